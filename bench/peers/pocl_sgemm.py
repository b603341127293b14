"""Times the tiled matrix multiply on each PoCL there is, one core: `pocl_sgemm.py N REPEATS SEED`; JSON on stdout.

Runs in the peers' environment, which has no GridStride.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time

_parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
for _name in ("n", "repeats", "seed"):
    _parser.add_argument(_name, type=int)
OPTIONS = _parser.parse_args()  # before the imports, which are there in the peers' environment only
CORE = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {CORE})  # before PoCL starts its threads, which inherit it
os.environ["POCL_MAX_PTHREAD_COUNT"] = os.environ["POCL_CPU_MAX_CU_COUNT"] = "1"

import numpy as np  # noqa: E402
import pyopencl as cl  # noqa: E402

SOURCE = """
__kernel void tiled(__global const float* A, __global const float* B, __global float* C, int N)
{
    __local float a[16][16], b[16][16];
    const int x = get_local_id(0), y = get_local_id(1);
    const int row = get_group_id(1) * 16 + y, column = get_group_id(0) * 16 + x;
    float sum = 0;
    for (int t = 0; t < N / 16; ++t) {
        a[y][x] = A[row * N + t * 16 + x];
        b[y][x] = B[(t * 16 + y) * N + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 16; ++k) sum += a[y][k] * b[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    C[row * N + column] = sum;
}
"""


def main(n: int, repeats: int, seed: int) -> None:
    platforms = [p for p in cl.get_platforms() if p.name.startswith("Portable")]
    if not platforms:
        raise SystemExit("no PoCL among the OpenCL platforms")
    print(json.dumps([measure(p, n, repeats, seed) for p in platforms]))


def measure(platform: cl.Platform, n: int, repeats: int, seed: int) -> dict[str, object]:
    """Wall and processor seconds of each launch, on one of the PoCLs that are installed."""
    device = platform.get_devices()[0]
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    kernel = cl.Program(context, SOURCE).build().tiled
    rng = np.random.default_rng(seed)
    a, b = rng.random((n, n), np.float32), rng.random((n, n), np.float32)
    c = np.empty_like(a)
    flags = cl.mem_flags
    buffers = [cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=m) for m in (a, b)]
    result = cl.Buffer(context, flags.WRITE_ONLY, c.nbytes)
    seconds, cpu_seconds = [], []
    for _ in range(repeats + 2):
        start, cpu = time.perf_counter(), time.process_time()
        kernel(queue, (n, n), (16, 16), *buffers, result, np.int32(n))
        queue.finish()
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(time.process_time() - cpu)
    cl.enqueue_copy(queue, c, result)
    assert np.allclose(c, a @ b, rtol=1e-4), "PoCL's result is wrong"
    version = re.search(r"PoCL [\d.]+\S*", platform.version)
    return {"peer": version[0] if version else platform.version, "seconds": seconds[2:], "cpu_seconds": cpu_seconds[2:]}


if __name__ == "__main__":
    main(OPTIONS.n, OPTIONS.repeats, OPTIONS.seed)
