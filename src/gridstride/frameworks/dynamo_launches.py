"""Triton's launches under torch.compile, which without a GPU takes them for functions to trace into."""

from __future__ import annotations

import functools


@functools.cache
def end_graphs_at_launches() -> None:
    """Let TorchDynamo end its graph at a launch of Triton's, and trace nothing of what runs behind it.

    TorchDynamo need not have been imported: it reads the attribute of a function that it would inline, and the strategy
    of the code of a frame that begins.
    """
    from torch._C._dynamo.eval_frame import _FrameAction, _FrameExecStrategy, set_code_exec_strategy
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    from gridstride.device.launch.dynamo import graph_break

    skipped = _FrameExecStrategy(_FrameAction.SKIP, _FrameAction.SKIP)
    for owner in (JITFunction, Autotuner, Heuristics):
        set_code_exec_strategy(graph_break(owner.run).__code__, skipped)
