"""Times Triton kernels on the virtual GPU or in Triton's interpreter: `triton_kernels.py WHERE N REPEATS SEED`; JSON.

Runs in the peers' environment, on one core. WHERE "gridstride" takes the kernels by way of PTX, and GridStride itself
from $PYTHONPATH; "interpreter" runs the same functions under TRITON_INTERPRET=1. Results are checked against NumPy.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from typing import Any

_parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
_parser.add_argument("where", choices=("gridstride", "interpreter"))
for _name in ("n", "repeats", "seed"):
    _parser.add_argument(_name, type=int)
OPTIONS = _parser.parse_args()
WHERE = OPTIONS.where
os.environ["TRITON_INTERPRET"] = str(int(WHERE == "interpreter"))  # before the import
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

TILE = {"BM": 64, "BN": 64, "BK": 32}
COLUMNS = 1024


@triton.jit  # type: ignore[untyped-decorator]
def matmul(a_ptr, b_ptr, c_ptr, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # type: ignore[no-untyped-def]
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, N, BK):
        a = tl.load(a_ptr + m[:, None] * N + start + k[None, :])
        b = tl.load(b_ptr + (start + k[:, None]) * N + n[None, :])
        total = tl.dot(a, b, total, input_precision="ieee")
    tl.store(c_ptr + m[:, None] * N + n[None, :], total)


@triton.jit  # type: ignore[untyped-decorator]
def softmax(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + i, mask=i < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * columns + i, e / tl.sum(e, axis=0), mask=i < columns)


SIGNATURES: dict[str, str] = {"matmul": "*fp32:16, *fp32:16, *fp32:16, i32:16", "softmax": "*fp32:16, *fp32:16, i32"}
Launch = Callable[..., None]
Place = Callable[[np.ndarray], Any]
"""An array to where a kernel takes it from; what it gives has `numpy()`."""


def interpreted(kernel: Any, grid: tuple[int, ...], constants: dict[str, int]) -> tuple[Launch, Place]:
    import torch

    torch.set_num_threads(1)
    return (lambda *args: kernel[grid](*args, **constants)), torch.from_numpy


def compiled(kernel: Any, grid: tuple[int, ...], constants: dict[str, int]) -> tuple[Launch, Place]:
    import gridstride as gs

    name = kernel.__name__
    return gs.triton(kernel, signature=SIGNATURES[name], constants=constants)[name][grid], gs.to_device


def timed(kernel: Any, grid: tuple[int, ...], constants: dict[str, int], *args: Any) -> tuple[list[float], list[float]]:
    """Seconds on the clock and on the processor of each launch but the first; the last array holds the result."""
    make = interpreted if WHERE == "interpreter" else compiled
    launch, place = make(kernel, grid, constants)
    placed = [place(each) if isinstance(each, np.ndarray) else each for each in args]
    launch(*placed)
    seconds, cpu_seconds = [], []
    for _ in range(OPTIONS.repeats):
        start, cpu = time.perf_counter(), time.process_time()
        launch(*placed)
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(time.process_time() - cpu)
    for host, there in zip(args, placed, strict=True):
        if isinstance(host, np.ndarray):
            host[...] = there.numpy()
    return seconds, cpu_seconds


def run(n: int, seed: int) -> dict[str, dict[str, list[float]]]:
    rng = np.random.default_rng(seed)
    a, b = rng.random((n, n), np.float32), rng.random((n, n), np.float32)
    x, c, out = rng.random((n, COLUMNS), np.float32), np.zeros_like(a), np.zeros((n, COLUMNS), np.float32)
    times = {
        "matmul": timed(matmul, (n // TILE["BM"], n // TILE["BN"]), TILE, a, b, c, n),
        "softmax": timed(softmax, (n,), {"BLOCK": COLUMNS}, x, out, COLUMNS),
    }
    np.testing.assert_allclose(c, a @ b, rtol=1e-4)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=1e-4)
    return {name: {"seconds": wall, "cpu_seconds": cpu} for name, (wall, cpu) in times.items()}


def main(n: int, seed: int) -> None:
    if WHERE == "interpreter":
        found = run(n, seed)
    else:
        import gridstride as gs

        with gs.use(gs.VirtualGPU(workers=1)):
            found = run(n, seed)
    print(json.dumps({"peer": f"Triton {triton.__version__}", "kernels": found}))


if __name__ == "__main__":
    main(OPTIONS.n, OPTIONS.seed)
