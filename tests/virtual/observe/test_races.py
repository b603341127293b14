"""The race detector: what is found, with both lines, and what must stay silent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.gpu import VirtualGPU

HEAD = """
extern "C" __global__ void kernel(int* out) {
    __shared__ int tile[256];
    __shared__ unsigned char bytes[256];
    __shared__ volatile int flag;
    const int t = threadIdx.x;
"""
TAIL = """
    out[t] = tile[t] + bytes[t];
}
"""


def findings(body: str, *, threads: int = 128) -> tuple[Any, ...]:
    source = HEAD + body + TAIL
    with gs.use(VirtualGPU(workers=1)):
        run = gs.cuda(source, filename="race.cu")["kernel"].observe(2, threads)(gs.to_device(np.zeros(256, "i4")))
        return tuple(run.findings)


def line_of(body: str, text: str) -> int:
    lines = (HEAD + body).splitlines()
    return next(n for n, line in enumerate(lines, 1) if text in line)


INIT = "    tile[t] = t; bytes[t] = 0; flag = 0; __syncthreads();\n"

SILENT = {
    "each its own": INIT + "    tile[t] += 1;\n",
    "a barrier between": INIT + "    int v = tile[(t + 32) % 128]; __syncthreads(); tile[t] = v; __syncthreads();\n",
    "readers only": INIT + "    int v = tile[(t + 1) % 128] + tile[(t + 64) % 128]; __syncthreads(); tile[t] = v;\n"
    "    __syncthreads();\n",
    "lanes of one warp in lock step": INIT + "    int v = tile[t ^ 1]; __syncwarp(); tile[t] = v;\n",
    "neighbouring bytes of one word": INIT + "    bytes[t] = t; __syncthreads();\n",
    "a byte per warp of one word": INIT + "    if (t % 32 == 0) bytes[t / 32] = t; __syncthreads();\n",
    "atomics": INIT + "    atomicAdd(&tile[0], 1); __syncthreads();\n",
    "two warps that write the same": INIT + "    tile[128 + t % 32] = t % 32; __syncthreads();\n",
    "two warps that write the same four": INIT + "    reinterpret_cast<int4*>(tile)[32 + t % 8] = {1, 2, 3, t % 8};"
    " __syncthreads();\n",
    "a loop with both barriers": INIT + "    for (int s = 64; s > 0; s /= 2) {\n"
    "        if (t < s) tile[t] += tile[t + s];\n        __syncthreads();\n    }\n",
    "a flag that is waited for": INIT + "    if (t == 0) { tile[200] = 5; __threadfence_block(); flag = 1; }\n"
    "    if (t >= 32) { while (flag == 0) {} __threadfence_block(); tile[t] = tile[200]; }\n    __syncthreads();\n",
}


@pytest.mark.parametrize("name", SILENT)
def test_nothing_is_found_where_the_code_is_right(name: str) -> None:
    threads = 256 if "byte" in name else 128
    assert findings(SILENT[name], threads=threads) == ()


def test_a_read_that_may_come_before_the_write_is_a_race() -> None:
    body = "    tile[t] = t; bytes[t] = 0;\n    int v = tile[(t + 32) % 128];\n    __syncthreads(); tile[t] = v;\n"
    found = findings(body)
    assert {f.kind for f in found} == {"race"}
    lines = {frozenset((f.line, f.other.line)) for f in found}
    assert frozenset((line_of(body, "bytes[t] = 0"), line_of(body, "(t + 32)"))) in lines


def test_a_write_that_may_come_before_a_read_is_a_race() -> None:
    body = INIT + "    int v = tile[(t + 32) % 128];\n    tile[t] = v;\n    __syncthreads();\n"
    found = findings(body)
    assert any(f.line == line_of(body, "tile[t] = v") or f.other.line == line_of(body, "tile[t] = v") for f in found)


def test_two_warps_that_write_one_place_race() -> None:
    body = INIT + "    if (t % 32 == 0)\n        tile[200] = t;\n    __syncthreads();\n"
    found = findings(body)
    assert [f.line for f in found] == [line_of(body, "tile[200]")]
    assert found[0].thread is not None
    assert found[0].other.thread is not None
    assert found[0].thread[0] // 32 != found[0].other.thread[0] // 32


def test_one_different_word_of_four_that_two_warps_write_is_a_race() -> None:
    store = "    if (t % 32 == 0)\n        reinterpret_cast<int4*>(tile)[40] = {1, 2, t, 3};\n"
    body = INIT + store + "    __syncthreads();\n"
    found = findings(body)
    assert [(f.line, f.address) for f in found] == [(line_of(body, "int4"), 4 * 162)]


def test_one_missing_barrier_in_a_loop_is_found() -> None:
    body = INIT + "    for (int s = 64; s > 0; s /= 2) {\n        if (t < s) tile[t] += tile[t + s];\n    }\n"
    assert any(f.kind == "race" and f.line == line_of(body, "if (t < s)") for f in findings(body))


def test_a_barrier_that_some_lanes_go_around_is_found() -> None:
    body = INIT + "    if (t % 2) {\n        __syncthreads();\n    }\n    tile[t] = 3;\n    __syncthreads();\n"
    kinds = {f.kind for f in findings(body)}
    assert "barrier_divergence" in kinds


def test_threads_that_returned_before_a_barrier_are_no_finding() -> None:
    body = "    if (t >= 100) return;\n    tile[t] = t; bytes[t] = 0;\n    __syncthreads();\n"
    assert findings(body) == ()


def test_a_clean_block_after_a_racing_one_stays_clean() -> None:
    body = INIT + "    if (blockIdx.x == 0 && t % 32 == 0)\n        tile[200] = t;\n    __syncthreads();\n"
    found = findings(body)
    assert found
    assert {f.block for f in found} == {(0, 0, 0)}


def test_sanitize_raises_what_it_finds() -> None:
    source = HEAD + "    tile[t % 64] = t;\n" + TAIL
    with gs.use(VirtualGPU(sanitize=True, workers=1)), pytest.raises(gs.KernelFault, match="race") as caught:
        gs.cuda(source)["kernel"][1, 128](np.zeros(256, "i4"))
    assert caught.value.kind == "race"


STMATRIX = """    unsigned at = __cvta_generic_to_shared(tile + t %% 32 / 8 * 32 + t %% 8 * 4);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%%0], {%%1, %%1, %%1, %%1};" :: "r"(at), "r"(%s)
                 : "memory");
    bytes[t] = 0; __syncthreads();
"""


@pytest.mark.parametrize(("word", "races"), [("t % 32", False), ("t", True)])
def test_warps_that_store_matrices_race_where_they_differ(word: str, races: bool) -> None:
    assert bool(findings(STMATRIX % word)) == races


CLEARED = "    tile[t] = 0; tile[t + 128] = 0; {barrier} atomicAdd(&tile[t * 37 % 256], {by});\n    __syncthreads();\n"


@pytest.mark.parametrize("by", [1, 2])
def test_an_atomic_on_what_another_warp_clears_without_a_barrier_is_a_race(by: int) -> None:
    assert "race" in {f.kind for f in findings(CLEARED.format(barrier="", by=by))}
    assert findings(CLEARED.format(barrier="__syncthreads();", by=by) + "    bytes[t] = 0;\n") == ()


WITH_ATOMICS = {
    "written after it": (INIT + "    atomicAdd(&tile[5], 1);\n    tile[t] = t;\n    __syncthreads();\n", True),
    "read after it": (INIT + "    if (t < 32) atomicAdd(&tile[40], 1);\n    int v = tile[t];\n    bytes[t] = v;\n",
                      True),
    "a look at the value before": (INIT + "    if (tile[5] < t) atomicMax(&tile[5], t);\n    __syncthreads();\n",
                                   False),
    "the last one reads": (INIT + "    bytes[t] = 1; if (atomicAdd(&tile[255], 1) == 127) bytes[0] += bytes[100];\n"
                           "    __syncthreads();\n", False),
}  # fmt: skip


@pytest.mark.parametrize("name", WITH_ATOMICS)
def test_atomics_race_with_plain_accesses_that_change_something(name: str) -> None:
    body, races = WITH_ATOMICS[name]
    body = body.replace("flag = 0;", "flag = 0; tile[t + 128] = 0;", 1)
    assert bool(findings(body)) == races, findings(body)


EXCHANGE = """
extern "C" __global__ void exchange(int* out, int apart) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    tile[t] = t;
    if (blockIdx.x < apart) __syncwarp();
    out[blockIdx.x * 64 + t] = tile[t ^ 1];
}
"""


@pytest.mark.parametrize(("seed", "apart", "kinds"), [(None, 0, {"race"}), (None, 1, {"race"}), (None, 2, set()),
                                                      (None, 9, set()), (0, 8, {"race"})])  # fmt: skip
def test_lanes_of_a_warp_are_held_apart_in_the_first_two_blocks_and_with_a_seed_in_all(
    seed: int | None, apart: int, kinds: set[str]
) -> None:
    with gs.use(VirtualGPU(workers=1, memory=16 << 20, seed=seed)):
        run = gs.cuda(EXCHANGE)["exchange"].observe(9, 64)(gs.to_device(np.zeros(9 * 64, "i4")), apart)
    assert {f.kind for f in run.findings} == kinds
