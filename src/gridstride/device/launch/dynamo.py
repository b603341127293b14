"""Launches under `torch.compile`: the graph breaks there, and nothing of what a launch does is traced.

TorchDynamo reads two attributes of a function that it would inline, so these need no PyTorch. Frames that run behind
the break are another matter: it looks at each by itself, unless their folder is on its list.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
REASON = "a launch is not a PyTorch op, so the graph ends here; gs.torch_op makes an op of the kernel"
_FOLDERS = ("gridstride.compiler", "gridstride.device", "gridstride.virtual")
_listed: list[str] = []  # folders that are on the list of this process's TorchDynamo


def graph_break(function: Function) -> Function:
    """Let TorchDynamo end its graph in front of a call of `function`; with fullgraph=True it gives the reason."""
    function._torchdynamo_disable = True  # type: ignore[attr-defined]
    function._torchdynamo_disable_msg = REASON  # type: ignore[attr-defined]
    return function


def keep_dynamo_out() -> None:
    """Put our folders on TorchDynamo's list of what it does not trace, once there is a TorchDynamo."""
    if not _listed and "torch._dynamo" in sys.modules:
        _put_on_list()


@graph_break
def _put_on_list() -> None:
    from torch._dynamo.trace_rules import add

    for folder in _FOLDERS:
        add(folder)
    _listed.extend(_FOLDERS)
