"""A pytest plugin: a Triton library's own tests on the virtual GPU, the smallest few of each test function.

Loaded by bench/public_kernels.py. Notes go to the file GRIDSTRIDE_NOTES, a line of JSON for each test: how it ended,
and which kernels it launched.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import triton_route
from torch.overrides import TorchFunctionMode

import gridstride as gs

FEW = int(os.environ.get("GRIDSTRIDE_FEW", "2"))
"""Cases of each test function."""
_launched: dict[str, int] = {}
# What libraries ask of torch.cuda, they ask of torch.cpu here.
torch.cpu.get_device_properties = lambda *_: SimpleNamespace(total_memory=24 << 30, multi_processor_count=132)  # type: ignore[attr-defined]
torch.cpu.empty_cache = lambda: None  # type: ignore[attr-defined]
torch.cuda.get_device_properties = torch.cpu.get_device_properties  # type: ignore[attr-defined]


EXACT = ("cross_entropy", "logsumexp")
"""References that are computed in float64: with smoothed labels PyTorch's CPU code is 40 times further from that, in
float32, than the kernels are (1e-3 and 3e-5 of the smallest gradients), and than the tests allow."""


class _AsOnAGpu(TorchFunctionMode):
    def __torch_function__(self, function: Any, kinds: Any, args: Any = (), named: Any = None) -> Any:
        given = dict(named or {})
        if function == torch.Tensor.is_cuda.__get__:  # type: ignore[attr-defined]
            return True  # some operators of the library ask
        if getattr(function, "__name__", "") not in EXACT or args[0].dtype != torch.float32:
            return function(*args, **given)
        wide = [_wide(each) for each in args]
        return function(*wide, **{name: _wide(each) for name, each in given.items()}).float()


def _wide(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) and value.dtype == torch.float32 else value


@pytest.fixture(autouse=True)
def on_the_virtual_gpu() -> Iterator[None]:
    """Triton's launches go to a virtual GPU of its own for each test."""
    with gs.use(gs.VirtualGPU(workers=1)), triton_route.installed(_launched), _AsOnAGpu():
        yield


def _without_a_device(kind: type) -> None:
    """A module that newer versions of transformers make without being told where takes the word, too."""
    made, taken = kind.__init__, inspect.signature(kind.__init__).parameters
    if "device" not in taken:
        kind.__init__ = lambda self, *args, device=None, **named: made(self, *args, **named)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The cases of least work: whole numbers of parameters multiplied, those of float32 before others.

    By now the library's modules are there; what they ask for a number of multiprocessors by is the GPU's.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith("liger_kernel.ops.") and hasattr(module, "infer_device"):
            module.infer_device = lambda: "cuda"
        for each in vars(module).values() if name.startswith("transformers.models.") else ():
            if isinstance(each, type) and each.__name__.endswith("RotaryEmbedding"):
                _without_a_device(each)
    functions: dict[tuple[str, str], list[pytest.Item]] = {}
    for each in items:
        if "dtensor" in each.name or "distributed" in each.name:
            continue  # several processes, each with a GPU
        functions.setdefault((str(each.path), getattr(each, "originalname", each.name)), []).append(each)
    items[:] = [each for group in functions.values() for each in sorted(group, key=_work)[:FEW]]


def _work(item: pytest.Item) -> tuple[float, bool]:
    work = 1.0
    values = list(getattr(getattr(item, "callspec", None), "params", {}).values())
    flat = [each for value in values for each in (value if isinstance(value, tuple) else (value,))]
    for each in flat:
        work *= max(each, 1) if isinstance(each, int) and not isinstance(each, bool) else 1
    return work, "float32" not in str(flat)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    """One line a test, when it has run."""
    report = yield
    if call.when == "call" or report.outcome != "passed":
        error = call.excinfo.value if call.excinfo is not None else None
        line = {"test": item.nodeid, "outcome": report.outcome, "kernels": sorted(_launched),
                "error": None if error is None else f"{type(error).__name__}: {error}"[:500]}  # fmt: skip
        with open(os.environ["GRIDSTRIDE_NOTES"], "a", encoding="utf-8") as notes:
            notes.write(json.dumps(line) + "\n")
        _launched.clear()
    return report
