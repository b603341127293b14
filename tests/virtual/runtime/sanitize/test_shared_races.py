"""The race detector: what is found, with both lines, and what must stay silent."""

from __future__ import annotations

import re
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


COUNTED = (
    "    __shared__ int count;\n    if (t == 0) count = 0;\n    {between} {by}(&count, 1);\n    __syncthreads();\n"
)


@pytest.mark.parametrize("by", ["atomicAdd", "atomicExch"])
def test_a_counter_that_a_thread_of_the_first_warp_clears_and_counts_with_is_a_race(by: str) -> None:
    """That warp's own atomics come between its store and the others', and must not hide it."""
    rest = "    tile[t] = count; bytes[t] = 0; __syncthreads();\n"
    (found,) = findings(COUNTED.format(between="", by=by) + rest)
    assert found.kind == "race"
    assert re.search(r"changes atomically shared memory at offset \d+, which thread \(0, 0, 0\) wrote", found.message)
    assert {found.line, found.other.line} == {line_of(COUNTED, "count = 0"), line_of(COUNTED, "(&count, 1)")}
    assert findings(COUNTED.format(between="__syncthreads();", by=by) + rest) == ()


def test_an_atomic_behind_ones_own_store_is_remembered_where_others_met_the_store() -> None:
    body = INIT + "    if (t == 0) tile[200] = 0;\n    __syncthreads();\n    if (t < 32) atomicAdd(&tile[200], 1);\n"
    found = findings(body + "    if (t >= 32) bytes[t] = tile[200];\n    __syncthreads();\n")
    line = line_of(body, "atomicAdd")
    assert {line, line + 1} in [{each.line, each.other.line} for each in found if each.kind == "race"], found


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
extern "C" __global__ void exchange(int* out, int only) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    tile[t] = t;
    if (blockIdx.x != only) __syncwarp();
    out[blockIdx.x * 64 + t] = tile[t ^ 1];
}
"""


@pytest.mark.parametrize(("seed", "only", "kinds"), [(None, 0, {"race"}), (None, 8, {"race"}), (None, 4, set()),
                                                     (None, 9, set()), (0, 4, {"race"})])  # fmt: skip
def test_lanes_of_a_warp_are_held_apart_in_the_first_and_the_last_block_and_with_a_seed_in_all(
    seed: int | None, only: int, kinds: set[str]
) -> None:
    with gs.use(VirtualGPU(workers=1, memory=16 << 20, seed=seed)):
        run = gs.cuda(EXCHANGE)["exchange"].observe(9, 64)(gs.to_device(np.zeros(9 * 64, "i4")), only)
    assert {f.kind for f in run.findings} == kinds


@pytest.mark.parametrize(("store", "kinds"), [("s[0] = t", {"race"}), ("s[t % 5] = t", {"race"}), ("s[0] = 7", set()),
                                              ("s[t % 5] = t % 5", set()), ("s[31 - t] = t", set()),
                                              ("if (t < 2) s[t / 2] = t", {"race"})])  # fmt: skip
def test_lanes_that_store_to_one_place_at_once_store_the_same(store: str, kinds: set[str]) -> None:
    source = f"""extern "C" __global__ void k(int *out) {{
        __shared__ int s[32];
        const int t = threadIdx.x;
        s[t] = 0;
        __syncwarp();
        {store};
        __syncwarp();
        out[t] = s[t];
    }}"""
    with gs.use(VirtualGPU(workers=1, memory=16 << 20)):
        found = gs.cuda(source)["k"].observe(1, 32)(gs.to_device(np.zeros(32, "i4"))).findings
    assert {f.kind for f in found} == kinds
    assert all("they store different values, and any of them may stay" in f.message for f in found)


HIDDEN_BY_LANES = """    tile[t] = t; bytes[t] = 0;
    int v = tile[(t + 40) % 128] + tile[t ^ 1];
    __syncthreads(); tile[t] = v; __syncthreads();
"""


def test_a_race_between_warps_is_not_hidden_by_one_between_lanes_on_the_same_lines() -> None:
    found = findings(HIDDEN_BY_LANES)
    assert {f.kind for f in found} == {"race"}
    assert all("__syncthreads()" in f.message for f in found), found
    assert not any("__syncwarp()" in f.message for f in found), found


def test_a_barrier_that_is_missing_is_asked_for_though_one_of_two_arrays_is_a_warps_own() -> None:
    body = "    __shared__ int own[128];\n    own[t] = t;\n    tile[t] = t; bytes[t] = 0;\n"
    found = findings(body + "    int v = own[t ^ 1] + tile[(t + 40) % 128];\n    __syncthreads(); tile[t] = v;\n")
    assert found
    assert not any("__syncwarp()" in f.message for f in found), found


def test_where_warps_and_lanes_race_on_other_lines_the_warps_come_first() -> None:
    body = (
        INIT + "    int w = tile[t ^ 1];\n    tile[t] = w + 1;\n    bytes[t] = 1;\n    int v = bytes[(t + 40) % 128];\n"
    )
    found = findings(body + "    __syncthreads(); tile[t] = v; __syncthreads();\n")
    advised = ["__syncwarp()" in f.message for f in found]
    assert sorted(advised) == advised, found
    assert True in advised
    assert False in advised


def test_what_a_race_left_half_done_is_not_said_again_where_it_is_used() -> None:
    body = "    tile[t] = t; bytes[t] = 0;\n    for (int k = 64; k > 0; k /= 2) if (t < k) tile[t] += tile[t + k];\n"
    assert {f.kind for f in findings(body + "    __syncthreads();\n")} == {"race"}


def test_shared_memory_that_is_written_too_late_is_not_said_to_be_written_by_nobody() -> None:
    late = "if (t >= 96) { if (t == 127) most = 0; __syncwarp(); }"
    body = f"    __shared__ int most;\n    {late}\n    atomicMax(&most, t);\n    __syncthreads();\n"
    (found,) = findings(body + "    tile[t] = most; bytes[t] = 0; __syncthreads();\n")
    assert found.kind == "uninitialised_read"
    assert "had written by then" in found.message
    assert "__syncthreads() after it" in found.message


def test_lanes_that_store_a_nan_of_either_sign_store_the_same() -> None:
    source = """
extern "C" __global__ void kernel(const float* in, float* out) {
    __shared__ float total;
    float sum = in[threadIdx.x];
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    total = sum;
    *out = sum;
    __syncthreads();
    out[1] = total;
}"""
    values = np.ones(32, np.float32)
    values[[3, 20]] = np.array([0x7FC00000, 0xFFC00000], np.uint32).view(np.float32)
    with gs.use(VirtualGPU(workers=1)):
        kernel = gs.cuda(source, filename="nan.cu")["kernel"]
        assert kernel.observe(1, 32)(values, np.zeros(2, np.float32)).findings == ()


def test_lanes_that_store_different_numbers_race_though_one_is_a_nan() -> None:
    source = """
extern "C" __global__ void kernel(float* out) { *out = threadIdx.x ? 1.0f : __int_as_float(0x7FC00000); }"""
    with gs.use(VirtualGPU(workers=1)):
        (found,) = gs.cuda(source, filename="nan.cu")["kernel"].observe(1, 32)(np.zeros(1, np.float32)).findings
    assert found.kind == "race"
