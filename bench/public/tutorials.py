"""Triton's tutorials, run as they stand on the virtual GPU: `tutorials.py FILE`, the kernels launched as JSON.

Their benchmarks are left out; their own comparisons with PyTorch, printed or asserted, say whether they are right.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import triton
import triton_route
from torch.overrides import TorchFunctionMode
from triton.backends.compiler import GPUTarget

import gridstride as gs

TESTS = {
    "06-fused-attention": [
        {"Z": 1, "H": 2, "N_CTX": 128, "HEAD_DIM": 64, "causal": causal, "warp_specialize": False, "mode": "bwd",
         "provider": "triton-fp16"}
        for causal in (True, False)
    ],
}  # fmt: skip
"""Cases of the tests that a tutorial has and does not run by itself."""


class _Target(GPUTarget):
    """What newer tutorials ask of a target."""

    def is_cuda_backend(self) -> bool:
        return True


class _Driver:
    """What tutorials ask Triton's driver."""

    utils = types.SimpleNamespace(get_device_properties=lambda _: {
        "multiprocessor_count": 132, "max_num_regs": 65536, "max_shared_mem": 232448, "warpSize": 32,
    })  # fmt: skip

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")

    def get_current_target(self) -> GPUTarget:
        return _Target("cuda", 90, 32)

    def get_benchmarker(self) -> Any:
        raise RuntimeError("nothing is timed here")


class _OnTheCpu(TorchFunctionMode):
    """Tensors that are asked for on "cuda" are made where the virtual GPU takes them from.

    The reference of a normalisation is computed in float32: of halves, PyTorch's CPU code sums gradients as halves and
    is ten times further from the truth than the tutorial's own tolerance allows.
    """

    def __torch_function__(self, function: Any, kinds: Any, args: Any = (), named: Any = None) -> Any:
        given = dict(named or {})
        if function == torch.Tensor.is_cuda.__get__:  # type: ignore[attr-defined]
            return True
        if str(given.get("device")).startswith("cuda"):
            given["device"] = "cpu"
        if function is torch.nn.functional.layer_norm and args[0].dtype == torch.float16:
            x, shape = args
            single = {n: v.float() if isinstance(v, torch.Tensor) else v for n, v in given.items()}
            return function(x.float(), shape, **single).half()
        return function(*args, **given)


class _Unrun:
    """A benchmark that is not run."""

    def run(self, *_: Any, **__: Any) -> None:
        """Nothing."""


@contextlib.contextmanager
def _as_on_a_gpu(launched: triton_route.Launches) -> Iterator[None]:
    def report(*_: Any) -> Callable[..., Any]:
        return lambda _: _Unrun()

    with (
        patch.object(type(triton.runtime.driver), "active", _Driver()),
        patch.object(triton.runtime.driver, "set_active_to_cpu", lambda: None, create=True),
        patch.object(triton.runtime.driver, "get_active_gpus", list, create=True),
        patch.object(triton.testing, "perf_report", report),
        patch.object(torch.cuda, "get_device_capability", lambda *_: (9, 0)),
        patch.object(torch.cuda, "get_device_properties", lambda *_: types.SimpleNamespace(multi_processor_count=132)),
        triton_route.installed(launched),
        _OnTheCpu(),
    ):
        yield


def main(path: Path) -> None:
    launched: triton_route.Launches = {}
    said, error = io.StringIO(), ""
    module = types.ModuleType("__main__")
    module.__file__ = str(path)
    sys.modules["__main__"], sys.argv = module, [str(path)]
    with gs.use(gs.VirtualGPU(workers=1)), _as_on_a_gpu(launched), contextlib.redirect_stdout(said):
        try:
            exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
            for case in TESTS.get(path.stem, ()):
                module.__dict__["test_op"](**case)
        except Exception as raised:
            lines = [each.lineno for each in traceback.extract_tb(raised.__traceback__) if each.filename == str(path)]
            error = f"{type(raised).__name__}: {raised} (line {lines[-1] if lines else 0})"[:600]
    kernels = re.findall(r"@triton\.jit(?:\([^)]*\))?\s*\ndef (\w+)", path.read_text(encoding="utf-8"))
    print(json.dumps({"launched": launched, "kernels": kernels, "said": said.getvalue()[-3000:], "error": error}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
