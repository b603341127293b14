"""Times the tiled matrix multiply on Numba's CUDA simulator: `numba_sgemm.py N REPEATS SEED`; JSON on stdout.

Runs in the peers' environment, which has no GridStride. N is small: the simulator runs a Python thread per CUDA thread.
"""

from __future__ import annotations

import argparse
import json
import os
import time

_parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
for _name in ("n", "repeats", "seed"):
    _parser.add_argument(_name, type=int)
OPTIONS = _parser.parse_args()  # before the imports, which are there in the peers' environment only
os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # before the import
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numba  # noqa: E402
import numpy as np  # noqa: E402
from numba import cuda, float32  # noqa: E402


@cuda.jit
def tiled(A, B, C, N):  # type: ignore[no-untyped-def]
    a = cuda.shared.array((16, 16), float32)
    b = cuda.shared.array((16, 16), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * 16 + y, cuda.blockIdx.x * 16 + x
    total = float32(0.0)
    for t in range(N // 16):
        a[y, x] = A[row, t * 16 + x]
        b[y, x] = B[t * 16 + y, column]
        cuda.syncthreads()
        for k in range(16):
            total += a[y, k] * b[k, x]
        cuda.syncthreads()
    C[row, column] = total


def main(n: int, repeats: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.random((n, n), np.float32), rng.random((n, n), np.float32)
    c = np.zeros_like(a)
    seconds, cpu_seconds = [], []
    for _ in range(repeats):
        start, cpu = time.perf_counter(), time.process_time()
        tiled[(n // 16, n // 16), (16, 16)](a, b, c, n)
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(time.process_time() - cpu)
    assert np.allclose(c, a @ b, rtol=1e-4), "the simulator's result is wrong"
    name = f"Numba {numba.__version__}, CUDA simulator"
    print(json.dumps({"peer": name, "seconds": seconds, "cpu_seconds": cpu_seconds}))


if __name__ == "__main__":
    main(OPTIONS.n, OPTIONS.repeats, OPTIONS.seed)
