"""Races in global memory between the lanes of one warp: what is found in shared memory is found there."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.findings.finding import KernelFinding

WIDTH = 64
HEAD = """extern "C" __global__ void k(int *x, int *y, volatile int *v) {
const int t = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x % 32, w = t - l;
"""
"""Of each array 256 elements; two blocks of two warps each."""

RACES = {
    "a neighbour reads what was written": "x[t] = t;\ny[t] = x[t ^ 1];",
    "a neighbour writes what was read": "int a = x[t ^ 1];\nx[t] = a;",
    "volatile orders nothing": "v[t] = t;\ny[t] = v[t ^ 1];",
    "a fence": "x[t] = t;\n__threadfence();\ny[t] = x[t ^ 1];",
    "fences of several kinds": "x[t] = t;\n__threadfence();\n__threadfence_block();\ny[t] = x[t ^ 1];",
    "a fence ahead of a store": "int a = x[t ^ 1];\n__threadfence();\nx[t] = a;",
    "a fence behind a __syncwarp()": "__threadfence();\n__syncwarp();\nx[t] = t;\n__threadfence();\ny[t] = x[t ^ 1];",
    "lane 0 writes what all lanes have read": "int a = x[w];\nif (l == 0) x[w] = a + 1;\ny[t] = a;",
    "all lanes read what lane 31 has written": "if (l == 31) x[w] = t;\ny[t] = x[w];",
    "a scan without __syncwarp": "for (int d = 1; d < 32; d *= 2) {\nif (l >= d) x[t] += x[t - d];\n}",
    "lanes count in one place": "y[w + l % 5] += 1;",
    "stores of two rounds": "for (int i = 0; i < 3; ++i)\ny[w + (l + i) % 32] = t;",
    "stores of one instruction, side by side": "y[w] = t;",
    "stores of one instruction, scattered": "y[w + l * 5 % 13] = t;",
    "stores of one instruction in half a warp": "if (l < 7) y[w] = t;",
    "a vector and one of its elements": "((int2 *)x)[w / 2 + l % 16] = make_int2(t, l);\ny[t] = x[w + 31 - l];",
    "an array that is moved by one": "if (l < 31) x[t] = x[t + 1];",
    "one half of a warp reads what the other wrote": "if (l < 16) x[t] = t;\nelse y[t] = x[t - 16];",
}
ORDERED = {
    "__syncwarp": "x[t] = t;\n__syncwarp();\ny[t] = x[t ^ 1];",
    "__syncwarp ahead of the store": "int a = x[t ^ 1];\n__syncwarp();\nx[t] = a;",
    "__syncthreads": "x[t] = t;\n__syncthreads();\ny[t] = x[t ^ 1];",
    "a shuffle": "x[t] = t;\nint a = __shfl_xor_sync(~0u, t, 1);\ny[t] = x[t ^ 1] + a;",
    "a fence and __syncwarp": "x[t] = t;\n__threadfence();\n__syncwarp();\ny[t] = x[t ^ 1];",
    "__syncwarp and a fence": "x[t] = t;\n__syncwarp();\n__threadfence();\ny[t] = x[t ^ 1];",
    "an atomic flag": "if (l == 0) {\nx[t] = 7;\n__threadfence();\natomicExch(x + w + 9, 99);\n} else {\n"
    "while (atomicAdd(x + w + 9, 0) != 99);\n__threadfence();\ny[t] = x[w];\n}",
    "fences around a lane's own": "for (int i = 0; i < 200; ++i) {\nx[t] += i;\n__threadfence();\n}\ny[t] = x[t];",
    "a lane's own elements": "for (int i = 0; i < 9; ++i) {\nx[t] = x[t] * 2 + i;\ny[t] += x[t];\n}",
    "many reads of one place": "int a = 0;\nfor (int i = 0; i < 40; ++i) a += x[w + (l + i) % 32];\ny[t] = a;",
    "the same value from all lanes": "y[w] = 7;\ny[w + l % 5] = 7;",
    "the same value from all lanes, volatile": "v[w] = 7;\nif (l < 9) v[w + l % 5] = 7;",
    "a permutation": "y[w + l * 5 % 32] = t;",
    "rounds with __syncwarp": "for (int i = 0; i < 300; ++i) {\ny[w + (l + i) % 32] = t + i;\n__syncwarp();\n}",
    "atomics": "atomicAdd(x + w, 1);\natomicMax(x + w + 1, t);",
    "vectors of a lane's own": "int2 a = ((int2 *)x)[t];\na.x += 1;\n((int2 *)x)[t] = a;\ny[t] = x[2 * t + 1];",
    "a lock": "for (bool done = false; !done;) if (atomicCAS(x + w, 0, 1) == 0) {\nv[w] = v[w] + 1;\n__threadfence();\n"
    "atomicExch(x + w, 0);\ndone = true;\n}",
}


def findings(body: str, *, block: int = WIDTH) -> tuple[KernelFinding, ...]:
    with gs.use(gs.VirtualGPU(workers=1, memory=16 << 20, time_limit=20)):
        kernel = gs.cuda(HEAD + body + "\n}")["k"]
        given = np.arange(256, dtype=np.int32) % 32
        return kernel.observe(2, block)(*(gs.to_device(given) for _ in range(3))).findings


@pytest.mark.parametrize("body", RACES.values(), ids=RACES)
def test_a_race_is_found(body: str) -> None:
    found = findings(body)
    assert {f.kind for f in found} == {"race"}
    assert all("of the same warp" in f.message for f in found)


@pytest.mark.parametrize("body", ORDERED.values(), ids=ORDERED)
def test_what_is_ordered_is_none(body: str) -> None:
    assert findings(body) == ()


@pytest.mark.parametrize("block", [1, 7, 32, 33, 48])
def test_warps_that_are_not_full_are_watched(block: int) -> None:
    body = "x[t] = t;\ny[t] = x[blockIdx.x * blockDim.x + (threadIdx.x + 1) % min(32, blockDim.x)];"
    assert {f.kind for f in findings(body, block=block)} == ({"race"} if block > 1 else set())


def test_it_names_both_lanes_and_what_is_missing() -> None:
    (found,) = findings("x[t] = t;\ny[t] = x[t ^ 1];")
    assert (found.line, found.block, found.thread) == (4, (0, 0, 0), (0, 0, 0))
    assert found.other is not None
    assert (found.other.line, found.other.thread) == (3, (1, 0, 0))
    assert "is a __syncwarp() missing?" in found.message
    (found,) = findings("y[w] = t;")
    assert "they store different values, and any of them may stay" in found.message


def test_every_block_is_watched() -> None:
    source = HEAD + "x[t] = t;\nif (blockIdx.x < 5) __syncwarp();\ny[t] = x[t ^ 1];\n}"
    with gs.use(gs.VirtualGPU(workers=1, memory=16 << 20)):
        arrays = [gs.to_device(np.zeros(7 * WIDTH, np.int32)) for _ in range(3)]
        (found,) = gs.cuda(source)["k"].observe(7, WIDTH)(*arrays).findings
    assert found.block == (5, 0, 0)


def test_a_race_of_lanes_hides_none_of_warps_between_the_same_two_lines() -> None:
    found = findings("x[t] = t;\ny[t] = x[w < 32 ? t ^ 1 : t < 64 ? t ^ 32 : t];")
    assert [f for f in found if f.other is not None and abs(f.thread[0] - f.other.thread[0]) >= 32]
