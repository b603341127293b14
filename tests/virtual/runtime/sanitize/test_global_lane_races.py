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


TELLS = {
    "all fence, one counts": "__threadfence();\nMEET;\nif (l == 0) atomicAdd(&count, 32);",
    "one fences and counts": "MEET;\nif (l == 0) {\n__threadfence();\natomicAdd(&count, 32);\n}",
    "one stores a volatile word": "__threadfence();\nMEET;\nif (l == 0) *(volatile int *)&count = 32;",
    "one adds by a release": "MEET;\nif (l == 0) asm volatile("
    '"red.release.gpu.global.add.u32 [%0], 32;" :: "l"(&count) : "memory");',
    "one counts for itself and then for others": "__threadfence();\nif (l == 0) atomicAdd(&count, 1);\nMEET;\n"
    "if (l == 0) atomicAdd(&count, 31);",
    "all count": "__threadfence();\natomicAdd(&count, 1);",
    "lanes count one by one": "__threadfence();\nfor (int k = 0; k < 32; ++k)\nif (l == k) atomicAdd(&count, 1);",
    "a half counts, then the other": "__threadfence();\nif (l < 16) atomicAdd(&count, 1);\nelse atomicAdd(&count, 1);",
}
"""How a warp tells that all its lanes have written; MEET: where they meet."""
BY_ONE = [name for name, text in TELLS.items() if "MEET" in text]
READERS = {"of another block": "blockIdx.x == 1 && threadIdx.x < 32", "of another warp": "blockIdx.x == 0"}


def told(tell: str, meet: str, reader: str) -> set[tuple[str, bool]]:
    """What is found where a warp writes and tells and another one waits and reads: kinds, and whether they say what is
    missing.
    """
    source = (
        HEAD.replace("extern", "__device__ int count;\nextern")
        + f"""
    if (blockIdx.x == 0 && threadIdx.x < 32) {{
        x[l] = __shfl_xor_sync(~0u, t, 1);
        {TELLS[tell].replace("MEET", meet)}
    }} else if ({READERS[reader]}) {{
        while (*(volatile int *)&count < 32) {{}}
        __threadfence();
        __syncwarp();
        y[t] = x[31 - l];
    }}
    }}"""
    )
    with gs.use(gs.VirtualGPU(workers=1, memory=16 << 20, time_limit=20)):
        arrays = [gs.to_device(np.arange(256, dtype=np.int32)) for _ in range(3)]
        found = gs.cuda(source)["k"].observe(2, WIDTH)(*arrays).findings
    return {(f.kind, "Is a __syncwarp() missing" in f.message) for f in found}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("tell", BY_ONE)
def test_one_lane_tells_of_its_own_stores_alone(tell: str, reader: str) -> None:
    assert told(tell, "", reader) == {("race", True)}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("tell", TELLS)
def test_what_all_lanes_have_told_or_met_behind_is_in_order(tell: str, reader: str) -> None:
    assert told(tell, "__syncwarp()", reader) == set()


def test_shuffles_bring_lanes_together() -> None:
    assert told("all fence, one counts", "y[t] = __shfl_xor_sync(~0u, t, 1)", "of another block") == set()


WRITERS = {
    "ahead of the meeting": ("x[l] = t;\n__syncwarp();\ny[l] = t;\n__threadfence();", []),
    "behind it": ("y[l] = t;\n__syncwarp();\nx[l] = t;\n__threadfence();", ["race"]),
    "behind what the lane told": ("atomicAdd(count, 1);\nx[l] = t;\n__threadfence();", ["race"]),
    "ahead of what the lane told": ("x[l] = t;\n__threadfence();\natomicAdd(count, 1);\ny[l] = t;", []),
}


@pytest.mark.parametrize(("stores", "kinds"), WRITERS.values(), ids=WRITERS)
def test_stores_of_one_stamp_are_told_apart(stores: str, kinds: list[str]) -> None:
    writer = f"{stores}\nif (l == 0) atomicAdd(count, 100);"
    reader = "while (atomicAdd(count, 0) < 100);\n__threadfence();\n__syncwarp();\nv[t] = x[31 - l];"
    arms = f"if (blockIdx.x == 0 && threadIdx.x < 32) {{\n{writer}\n}} else if (blockIdx.x == 1) {{\n{reader}\n}}"
    assert [f.kind for f in findings("int *count = (int *)v + 200;\n" + arms)] == kinds
