"""Counters beyond global and shared accesses: branches, atomics, local and constant memory, copies, matrix products."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridstride as gs
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.observe.counters import Counters

SOURCE = """
#include <mma.h>
using namespace nvcuda;
__constant__ float weights[64];
struct alignas(64) Map { char bytes[128]; };
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
#define K extern "C" __global__ void
K masked(const int* where, const float* in, float* out, unsigned lanes) {
    if (lanes >> threadIdx.x & 1) out[0] = in[where[threadIdx.x]];
}
K adds(const int* where, float* sums, unsigned lanes) {
    if (lanes >> threadIdx.x & 1) atomicAdd(sums + where[threadIdx.x], 1.5f);
}
K ways(float* out, int n) {
    float v = out[threadIdx.x];
    if (threadIdx.x % 4 == n) { for (int i = 0; i < n; ++i) v = __sinf(v); }
    if (n > 7) { for (int i = 0; i < n; ++i) v = __cosf(v); }
    out[threadIdx.x] = v;
}
K swap(int* out) { out[threadIdx.x] = atomicExch(out + 64, threadIdx.x); }
K one_total(int* total, int v) { atomicAdd(total, v + threadIdx.x); }
K counts_up(const int* where, int* out) {
    __shared__ int bins[64];
    if (threadIdx.x < 64) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(bins + where[threadIdx.x], 1);
    atomicAdd(bins + where[threadIdx.x], where[threadIdx.x]);
    __syncthreads();
    out[threadIdx.x] = bins[threadIdx.x];
}
K stack(const int* in, int* out) {
    int own[8];
    for (int i = 0; i < 8; ++i) own[i] = in[i];
    own[in[threadIdx.x] & 7] = threadIdx.x;
    out[threadIdx.x] = own[in[threadIdx.x + 1] & 7];
}
K constants(const int* where, float* out) { out[threadIdx.x] = weights[where[threadIdx.x]]; }
K generic(const float* in, float* out, int shared) {
    __shared__ float tile[32];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    const float* from = shared ? tile : in;
    out[threadIdx.x] = from[31 - threadIdx.x];
}
K again(const float* in, float* out) {
    float a = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = a + in[(threadIdx.x + 1) % 32] + __ldcg(in + threadIdx.x);
}
K product(float* out, unsigned a) {
    float c[4] = {};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a));
    out[threadIdx.x] = c[0];
}
K fragments(float* out) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(a, half(1));
    wmma::fill_fragment(b, half(1));
    wmma::fill_fragment(c, 0.0f);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);
}
K box(const __grid_constant__ Map from, float* out, int x, int y) {
    __shared__ alignas(1024) float tile[8 * 16];
    __shared__ unsigned long long bar;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at(&bar)));
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 512;" :: "r"(at(&bar)) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
            "[%0], [%1, {%2, %3}], [%4];" :: "r"(at(tile)), "l"(&from), "r"(x), "r"(y), "r"(at(&bar)) : "memory");
    }
    __syncthreads();
    asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra L; }"
        :: "r"(at(&bar)) : "memory");
    out[threadIdx.x] = tile[threadIdx.x];
}
"""
LANE = np.arange(32, dtype=np.int32)


@pytest.fixture(scope="module")
def module() -> Iterator[Any]:
    with gs.use(VirtualGPU(workers=1)):
        yield gs.cuda(SOURCE, filename="counted.cu")


def put(values: Any, dtype: str = "i4") -> Any:
    return gs.to_device(np.asarray(values, dtype))


def count(module: Any, kernel: str, *arguments: Any, grid: int = 1, block: int = 32) -> Counters:
    run = module[kernel].observe(grid, block)(*arguments)
    counters: Counters = run.counters
    return counters


def floats(n: int = 4096) -> Any:
    return put(np.zeros(n), "f4")


PATTERNS = st.lists(st.integers(0, 4095), min_size=32, max_size=32)
MASKS = st.integers(1, 2**32 - 1)


@settings(max_examples=40, deadline=None)
@given(where=PATTERNS | PATTERNS.map(sorted), lanes=MASKS)
def test_sectors_and_lines_are_those_of_the_active_lanes_addresses(module: Any, where: list[int], lanes: int) -> None:
    c = count(module, "masked", put(where), floats(), floats(64), lanes)
    line = next(each for each in c.lines if each.global_store_requests)
    active = [w for i, w in enumerate(where) if lanes >> i & 1]
    indices = [i for i in range(32) if lanes >> i & 1]
    assert line.global_load_sectors == len({w // 8 for w in active}) + len({i // 8 for i in indices})
    assert line.global_lines == len({w // 32 for w in active}) + 1 + 1
    assert line.l1_missed_sectors == line.global_load_sectors  # the first time: nothing is in L1


def packets(where: list[int]) -> int:
    """Sectors of an atomic: lanes in order, line by line; one that meets an address of its packet opens the next."""
    sectors = 0
    lines = {line: [w for w in where if w // 32 == line] for line in {w // 32 for w in where}}
    for own in lines.values():
        packet: list[int] = []
        for w in own:
            if w in packet:
                sectors += len({x // 8 for x in packet})
                packet = []
            packet.append(w)
        sectors += len({x // 8 for x in packet})
    return sectors


@settings(max_examples=40, deadline=None)
@given(where=st.lists(st.integers(0, 60), min_size=32, max_size=32), lanes=MASKS)
def test_reductions_at_one_address_count_their_sector_again(module: Any, where: list[int], lanes: int) -> None:
    c = count(module, "adds", put(where), floats(), lanes)
    assert c.global_reduction_requests == 1
    assert c.global_reduction_sectors == packets([w for i, w in enumerate(where) if lanes >> i & 1])
    assert c.atomics == lanes.bit_count()


def test_an_exchange_is_an_atomic_and_its_lanes_contend(module: Any) -> None:
    c = count(module, "swap", put(np.zeros(128)))
    assert (c.global_atomic_requests, c.global_atomic_sectors, c.contended_lanes) == (1, 32, 31)
    assert c.atomic_bytes == 32


def test_an_integer_total_is_added_up_in_the_warp_first(module: Any) -> None:
    c = count(module, "one_total", put([0]), 1, block=64)
    assert (c.global_reduction_requests, c.global_reduction_sectors, c.merged_atomics) == (2, 2, 2)


def test_adding_one_in_shared_memory_takes_a_pass_and_other_sums_one_for_each_lane_of_a_word(module: Any) -> None:
    c = count(module, "counts_up", put(LANE // 8), put(np.zeros(64)))
    assert c.shared_atomic_wavefronts == 1 + 8
    assert c.atomic_conflicts == 7


def test_a_branch_that_lanes_leave_on_two_ways_is_divergent_and_a_uniform_one_is_not(module: Any) -> None:
    some = count(module, "ways", floats(), 2)
    none = count(module, "ways", floats(), 0)
    assert some.divergent_branches == 1
    assert none.branches > 0
    line = next(each for each in some.lines if each.divergent_branches)
    assert "% 4" in SOURCE.splitlines()[line.line - 1]


def test_special_functions_are_counted_by_line(module: Any) -> None:
    c = count(module, "ways", floats(), 9)
    assert c.special_functions == sum(line.kinds.get("special", 0) for line in c.lines)
    assert c.kinds["special"] == c.special_functions


def test_local_memory_lies_word_by_word_for_a_whole_warp(module: Any) -> None:
    same = count(module, "stack", put(np.zeros(64)), put(np.zeros(64)))
    spread = count(module, "stack", put(np.arange(64)), put(np.zeros(64)))
    assert same.local_load_requests == spread.local_load_requests == 1
    assert same.local_load_sectors == 4
    assert spread.local_load_sectors == 32  # eight words, each in four sectors
    assert same.local_bytes == spread.local_bytes


def test_constant_memory_gives_one_word_at_a_time(module: Any) -> None:
    one = count(module, "constants", put(np.full(32, 5)), floats())
    two = count(module, "constants", put(LANE % 2), floats())
    assert (one.constant_requests, one.constant_wavefronts) == (1, 1)
    assert two.constant_wavefronts == 2
    assert one.global_load_requests == 1  # the index


def test_generic_addresses_are_counted_where_they_lead(module: Any) -> None:
    there = count(module, "generic", floats(), floats(), 1)
    here = count(module, "generic", floats(), floats(), 0)
    assert there.shared_load_wavefronts == 1
    assert there.global_load_requests == 1
    assert here.shared_load_wavefronts == 0
    assert here.global_load_requests == 2


def test_l1_has_what_the_block_read_before_and_loads_past_it_do_not_ask(module: Any) -> None:
    c = count(module, "again", floats(32), floats(32))
    assert c.global_load_sectors == 12
    assert c.l1_missed_sectors == 4 + 4
    assert c.l2_sectors == 4 + 4 + 4  # and the store
    assert (c.read_bytes, c.written_bytes) == (128, 128)


def test_matrix_products_count_their_operations_by_type(module: Any) -> None:
    c = count(module, "product", floats(), 0, grid=3)
    assert c.tensor_operations == 3 * 2 * 16 * 8 * 16
    assert c.tensor_types == {"f16": c.tensor_operations}
    assert c.kinds["tensor"] == 3


def test_a_product_of_fragments_is_of_the_type_of_its_factors_not_of_its_sums(module: Any) -> None:
    c = count(module, "fragments", floats())
    assert c.tensor_types == {"f16": 2 * 16 * 16 * 16}


@pytest.mark.parametrize(
    ("x", "y", "sectors"), [(0, 0, 16), (8, 8, 16), (24, 0, 8), (0, 30, 4), (32, 0, 0), (-8, -4, 4)]
)
def test_a_tensor_copy_asks_for_the_part_of_its_box_that_is_in_the_tensor(
    module: Any, x: int, y: int, sectors: int
) -> None:
    array = gs.to_device(np.zeros((32, 32), np.float32))
    c = count(module, "box", gs.tensor_map(array, (8, 16)), floats(), x, y)
    assert (c.tma_copies, c.tma_sectors, c.tma_bytes) == (1, sectors, 32 * sectors)


def test_everything_can_be_written_as_json(module: Any) -> None:
    run = module["ways"].observe(2, 64)(floats(), 9)
    back = json.loads(json.dumps(run.json()))
    assert back["counters"]["instructions"] == run.counters.instructions
    assert back["counters"]["lines"][0]["kinds"]
    assert {"occupancy", "predicted", "findings"} <= back.keys()
    assert back["predicted"]["limiter"] == run.predicted.limiter


def test_of_a_large_grid_what_a_part_touched_is_scaled_but_not_beyond_the_array(module: Any) -> None:
    big, out = floats(1 << 16), floats(1 << 16)
    c = count(module, "again", big, out, grid=1000)
    assert not c.exact
    assert c.read_bytes == pytest.approx(128 * 1000, rel=0.1) or c.read_bytes <= big.nbytes
    assert c.global_load_sectors == pytest.approx(12 * 1000, rel=0.01)
