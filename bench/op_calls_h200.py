"""What a call of an op costs the processor, on a physical GPU: ours, PyTorch's own, and one bare launch.

    python bench/op_calls_h200.py [--out FOLDER] [--calls N]

Tensors of a few KB, so that kernels end sooner than they are queued. Each way of calling takes turns with the others;
microseconds of a call, the median of rounds. `direct` is our op as a user calls it, `dispatched` the same op by
PyTorch's dispatcher, where it stands as `torch.ops.gridstride.…`. Beside them a kernel without work launched by
cuda.core, and by the launcher that our ops use. Prints a table and keeps op_calls_<chip>.json.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import torch
import torch.nn.functional as F
from common import RESULTS, need_gpu, save
from torch import Tensor

import gridstride as gs
from gridstride import ops
from gridstride.kernels.torch_op import RungLauncher

ROWS, WIDTH = 4, 256
ROUNDS = 15
EMPTY = 'extern "C" __global__ void empty(float* x, float* y, int n) { }'

Calls = dict[str, Callable[[], object]]


def data(*shape: int) -> Tensor:
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def forwards() -> dict[str, Calls]:
    """The same work by ours, by ours through the dispatcher and by PyTorch's."""
    x, y, weight = data(ROWS, WIDTH), data(ROWS, WIDTH), data(WIDTH)
    turned, angles = data(1, ROWS, 4, 64), data(1, ROWS, 64)
    labels = torch.randint(0, WIDTH, (ROWS,), device="cuda")
    own: Any = torch.ops.gridstride
    return {
        "gelu": {
            "direct": lambda: ops.gelu(x), "dispatched": lambda: own.gelu(x),
            "PyTorch": lambda: F.gelu(x, approximate="tanh"),
        },
        "softmax": {
            "direct": lambda: ops.softmax(x), "dispatched": lambda: own.softmax(x),
            "PyTorch": lambda: torch.softmax(x, -1),
        },
        "rms_norm": {
            "direct": lambda: ops.rms_norm(x, weight, 1e-6), "dispatched": lambda: own.rms_norm(x, weight, 1e-6),
            "PyTorch": lambda: F.rms_norm(x, (WIDTH,), weight, 1e-6),
        },
        "layer_norm": {
            "direct": lambda: ops.layer_norm(x, weight, weight),
            "dispatched": lambda: own.layer_norm(x, weight, weight, 1e-5),
            "PyTorch": lambda: F.layer_norm(x, (WIDTH,), weight, weight),
        },
        "swiglu": {
            "direct": lambda: ops.swiglu(x, y), "dispatched": lambda: own.swiglu(x, y),
            "PyTorch": lambda: F.silu(x) * y,
        },
        "rotary": {
            "direct": lambda: ops.rotary(turned, angles, angles),
            "dispatched": lambda: own.rotary(turned, angles, angles),
        },
        "cross_entropy": {
            "direct": lambda: ops.cross_entropy(x, labels), "PyTorch": lambda: F.cross_entropy(x, labels),
        },
    }  # fmt: skip


def bare() -> Calls:
    """One launch of a kernel that does nothing."""
    from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

    device = Device(0)
    device.set_current()
    stream = device.create_stream(torch.cuda.current_stream())
    major, minor = device.compute_capability
    program = Program(EMPTY, "c++", ProgramOptions(arch=f"sm_{major}{minor}"))
    theirs = program.compile("cubin").get_kernel("empty")
    config, x, y = LaunchConfig(grid=1, block=32), data(32), data(32)
    with gs.use(gs.PhysicalGPU()):
        ours = RungLauncher(gs.cuda(EMPTY)["empty"].bound())
    return {
        "cuda.core": lambda: launch(stream, config, theirs, x.data_ptr(), y.data_ptr(), ctypes.c_int(32)),
        "launcher": lambda: ours((1, 1, 1), 32, x, y, 32),
    }


def with_gradient(call: Callable[[], Any], inputs: list[Tensor]) -> Callable[[], object]:
    """Forward and backward."""

    def run() -> None:
        out = call()
        torch.autograd.grad(out, inputs, torch.ones_like(out))

    return run


def in_turn(calls: Calls, count: int) -> dict[str, float]:
    """Microseconds of one call of each."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for _ in range(20):
            call()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(count):
                call()
            times[name].append((time.perf_counter() - start) / count * 1e6)
    torch.cuda.synchronize()
    return {name: round(statistics.median(each), 2) for name, each in times.items()}


def measured(count: int) -> dict[str, dict[str, float]]:
    found = {"one launch": in_turn(bare(), count)}
    for name, calls in forwards().items():
        with torch.no_grad():
            found[name] = in_turn(calls, count)
    x, weight = data(ROWS, WIDTH).requires_grad_(), data(WIDTH).requires_grad_()
    y = data(ROWS, WIDTH).requires_grad_()
    graded: dict[str, tuple[Calls, list[Tensor]]] = {
        "gelu": ({"direct": lambda: ops.gelu(x), "dispatched": lambda: torch.ops.gridstride.gelu(x),
                  "PyTorch": lambda: F.gelu(x, approximate="tanh")}, [x]),
        "rms_norm": ({"direct": lambda: ops.rms_norm(x, weight, 1e-6),
                      "dispatched": lambda: torch.ops.gridstride.rms_norm(x, weight, 1e-6),
                      "PyTorch": lambda: F.rms_norm(x, (WIDTH,), weight, 1e-6)}, [x, weight]),
        "swiglu": ({"direct": lambda: ops.swiglu(x, y), "dispatched": lambda: torch.ops.gridstride.swiglu(x, y),
                    "PyTorch": lambda: F.silu(x) * y}, [x, y]),
    }  # fmt: skip
    for name, (calls, inputs) in graded.items():
        both = {way: with_gradient(call, inputs) for way, call in calls.items()}
        found[f"{name}, with its gradient"] = in_turn(both, count)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--calls", type=int, default=300)
    words = parser.parse_args()
    need_gpu("bench/op_calls_h200.py")
    chip = "h100" if "H100" in torch.cuda.get_device_name() else "h200"
    found = measured(words.calls)
    for name, each in found.items():
        print(f"{name:28}", "  ".join(f"{way} {time:.1f} µs" for way, time in each.items()))
    about = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    save(f"op_calls_{chip}", {**about, "microseconds": found}, folder=words.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
