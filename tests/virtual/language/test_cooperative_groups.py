"""Cooperative groups and CUB as CUDA ships them: tiles, coalesced threads, reduce, scan, grid barriers, block sorts."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs

HEAD = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
"""
BUILDS = pytest.mark.parametrize("sanitize", [False, True], ids=["fast", "observed"])


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.int32)


@BUILDS
def test_tiles_reduce_scan_and_know_their_ranks(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        HEAD
        + """template <int N> __device__ void tile(const int *x, int *o) {
        auto block = cg::this_thread_block();
        auto t = cg::tiled_partition<N>(block);
        int i = block.thread_rank(), v = x[i], n = block.size();
        o[i] = t.thread_rank() + 100 * t.meta_group_rank() + 10000 * t.meta_group_size();
        o[n + i] = cg::reduce(t, v, cg::plus<int>());
        o[2 * n + i] = cg::reduce(t, v, cg::greater<int>());
        o[3 * n + i] = cg::inclusive_scan(t, v, cg::plus<int>());
        o[4 * n + i] = cg::exclusive_scan(t, v);
        o[5 * n + i] = t.shfl_xor(v, 1) + t.any(v > 90) * 1000 + t.all(v > 5) * 2000;
    }
    extern "C" __global__ void k(const int *x, int *o) {
        tile<32>(x, o); tile<8>(x, o + 6 * 128); tile<2>(x, o + 12 * 128);
    }"""
    )["k"]
    x, out = np.random.default_rng(0).integers(0, 100, 128).astype(np.int32), zeros(3, 6, 128)
    kernel[1, 128](x, out.reshape(-1))
    i = np.arange(128)
    for got, n in zip(out, (32, 8, 2), strict=True):
        rows = x.reshape(-1, n)
        spread = np.ones((1, n), np.int32)
        scan = rows.cumsum(1)
        votes = 1000 * (rows > 90).any(1, keepdims=True) + 2000 * (rows > 5).all(1, keepdims=True)
        want = [i % n + 100 * (i // n) + 10000 * (128 // n), rows.sum(1, keepdims=True) * spread,
                rows.max(1, keepdims=True) * spread, scan, scan - rows, x[i ^ 1].reshape(-1, n) + votes]  # fmt: skip
        for a, b in zip(got, want, strict=True):
            assert (a == b.ravel()).all(), n


@BUILDS
def test_coalesced_threads_and_binary_partitions(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        HEAD
        + """extern "C" __global__ void k(const int *x, int *o, int *count) {
        int i = threadIdx.x, v = x[i];
        if (v % 3) {
            auto g = cg::coalesced_threads();
            int base = 0;
            if (g.thread_rank() == 0) base = atomicAdd(count, g.size());
            base = g.shfl(base, 0);
            o[base + g.thread_rank()] = v;
            o[64 + i] = cg::reduce(g, v, cg::plus<int>());
        }
        auto half = cg::binary_partition(cg::tiled_partition<32>(cg::this_thread_block()), v > 50);
        o[128 + i] = cg::reduce(half, v, cg::plus<int>());
        auto same = cg::labeled_partition(cg::tiled_partition<32>(cg::this_thread_block()), v % 4);
        o[192 + i] = cg::exclusive_scan(same, 1);
    }"""
    )["k"]
    x, out, count = np.random.default_rng(1).integers(0, 100, 64).astype(np.int32), zeros(256), zeros(1)
    kernel[1, 64](x, out, count)
    warp = np.arange(64) // 32
    kept = x % 3 != 0
    assert sorted(out[: count[0]]) == sorted(x[kept])
    assert out[64:128].tolist() == [
        int(x[(warp == w) & kept].sum()) if k else 0 for w, k in zip(warp, kept, strict=True)
    ]
    for i in range(64):
        mine = warp == warp[i]
        assert out[128 + i] == x[mine & ((x > 50) == (x[i] > 50))].sum()
        assert out[192 + i] == (mine & (x % 4 == x[i] % 4))[:i].sum()


@BUILDS
def test_a_cooperative_grid_meets(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        HEAD
        + """extern "C" __global__ void k(int *a, int *b, int rounds) {
        auto grid = cg::this_grid();
        int n = grid.size(), i = grid.thread_rank();
        for (int r = 0; r < rounds; ++r) {
            b[i] = a[(i + 65) % n] + 1;
            grid.sync();
            a[i] = b[(i + 1) % n];
            grid.sync();
        }
    }"""
    )["k"]
    a = np.arange(8 * 48, dtype=np.int32)
    for _ in range(2):
        got = a.copy()
        kernel.launch(grid=8, block=48, args=[got, np.zeros_like(a), 5], cooperative=True)
        want = a.copy()
        for _ in range(5):
            want = np.roll(np.roll(want, -65) + 1, -1)
        assert (got == want).all()


def test_a_grid_stopped_at_its_barrier_leaves_nothing_for_the_next(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        HEAD
        + """extern "C" __global__ void k(int *o, int bad) {
        auto grid = cg::this_grid();
        if (bad && blockIdx.x == 3) __trap();
        grid.sync();
        o[grid.thread_rank()] = 1;
    }"""
    )["k"]
    out = zeros(4 * 32)
    with pytest.raises(gs.KernelFault, match="trap"):
        kernel.launch(grid=4, block=32, args=[out, 1], cooperative=True)
    assert not out.any()
    kernel.launch(grid=4, block=32, args=[out, 0], cooperative=True)
    assert out.all()


def test_a_grid_that_was_not_launched_cooperatively_stops_at_its_barrier(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(HEAD + 'extern "C" __global__ void k() { cg::this_grid().sync(); }')["k"]
    with pytest.raises(gs.KernelFault) as fault:
        kernel[2, 32]()
    assert fault.value.kind == "trap"


@BUILDS
def test_groups_that_sync_in_different_places(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    """barrier.sync, unlike __syncthreads, lets the lanes of a warp arrive from different lines."""
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        HEAD
        + """extern "C" __global__ void k(int *o) {
        __shared__ int s[64];
        auto block = cg::this_thread_block();
        int t = threadIdx.x;
        s[t] = t;
        if (t % 2) { block.sync(); o[t] = s[63 - t]; } else { block.sync(); o[t] = s[63 - t] + 100; }
    }"""
    )["k"]
    out, t = zeros(64), np.arange(64)
    kernel[1, 64](out)
    assert (out == 63 - t + 100 * (t % 2 == 0)).all()


@BUILDS
def test_block_primitives_of_cub(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda("""#include <cub/cub.cuh>
    extern "C" __global__ void k(const int *x, int *sorted, int *scanned, int *sums) {
        using Sort = cub::BlockRadixSort<int, 128, 4>;
        using Scan = cub::BlockScan<int, 128>;
        using Reduce = cub::BlockReduce<int, 128>;
        using Warp = cub::WarpReduce<int>;
        __shared__ union { Sort::TempStorage sort; Scan::TempStorage scan; Reduce::TempStorage reduce;
                           Warp::TempStorage warp[4]; } t;
        int v[4], i = threadIdx.x;
        for (int j = 0; j < 4; ++j) v[j] = x[4 * i + j];
        int total = Reduce(t.reduce).Sum(v), most = (__syncthreads(), Reduce(t.reduce).Reduce(v[0], cuda::maximum<>{}));
        __syncthreads();
        int w = Warp(t.warp[i / 32]).Sum(v[1]);
        __syncthreads();
        if (i == 0) { sums[0] = total; sums[1] = most; }
        if (i % 32 == 0) sums[2 + i / 32] = w;
        int s[4];
        Scan(t.scan).ExclusiveSum(v, s);
        __syncthreads();
        Sort(t.sort).Sort(v);
        for (int j = 0; j < 4; ++j) { sorted[4 * i + j] = v[j]; scanned[4 * i + j] = s[j]; }
    }""")["k"]
    x = np.random.default_rng(2).integers(-(2**20), 2**20, 512).astype(np.int32)
    ordered, scanned, sums = zeros(512), zeros(512), zeros(6)
    kernel[1, 128](x, ordered, scanned, sums)
    assert (ordered == np.sort(x)).all()
    assert (scanned == x.cumsum() - x).all()
    assert sums.tolist() == [x.sum(), x[::4].max(), *x[1::4].reshape(4, 32).sum(1)]


MULTI_WARP = (
    HEAD
    + """template <int N, typename Block> __device__ void tile(Block &block, const int *x, int *o) {
    auto t = cg::tiled_partition<N>(block);
    int i = block.thread_rank(), v = x[i], n = block.size();
    o[i] = t.thread_rank() + 1000 * t.meta_group_rank() + 100000 * t.meta_group_size();
    o[n + i] = cg::reduce(t, v, cg::plus<int>());
    o[2 * n + i] = cg::inclusive_scan(t, v, cg::plus<int>());
    o[3 * n + i] = t.shfl(v, N - 3) + t.any(v > 98) * 1000 + t.all(v > 0) * 2000;
    __shared__ int turned[256];
    turned[i] = v;
    t.sync();
    o[4 * n + i] = turned[i - t.thread_rank() + N - 1 - t.thread_rank()];
    block.sync();
}
extern "C" __global__ void k(const int *x, int *o) {
    BLOCK
    tile<64>(block, x, o); tile<256>(block, x, o + 5 * 256);
}"""
)
BLOCKS = (
    "auto block = cg::this_thread_block();",
    "__shared__ cg::block_tile_memory<256> memory; auto block = cg::this_thread_block(memory);",
)


@BUILDS
@pytest.mark.parametrize("block", BLOCKS, ids=["plain", "with_memory"])
def test_tiles_of_several_warps(gpu: gs.VirtualGPU, block: str, sanitize: bool) -> None:
    """They meet in shared memory that the system keeps for them."""
    gpu.sanitize = sanitize
    text = MULTI_WARP.replace("BLOCK", block)
    x, out = np.random.default_rng(0).integers(0, 100, 256).astype(np.int32), zeros(2, 5, 256)
    gs.cuda(text)["k"][2, 256](x, out.reshape(-1))
    i = np.arange(256)
    for got, n in zip(out, (64, 256), strict=True):
        rows = x.reshape(-1, n)
        spread = np.ones((1, n), np.int32)
        votes = 1000 * (rows > 98).any(1, keepdims=True) + 2000 * (rows > 0).all(1, keepdims=True)
        want = [i % n + 1000 * (i // n) + 100000 * (256 // n), rows.sum(1, keepdims=True) * spread, rows.cumsum(1),
                rows[:, n - 3 : n - 2] * spread + votes, rows[:, ::-1]]  # fmt: skip
        for number, (a, b) in enumerate(zip(got, want, strict=True)):
            assert (a == b.ravel()).all(), (n, number)


def test_the_memory_of_tiles_is_no_part_of_what_a_kernel_may_have(gpu: gs.VirtualGPU) -> None:
    text = (
        HEAD
        + """extern "C" __global__ void k(int *o) {
        __shared__ char all[48 * 1024];
        all[threadIdx.x] = 1;
        auto t = cg::tiled_partition<64>(cg::this_thread_block());
        t.sync();
        o[threadIdx.x] = all[threadIdx.x ^ 63];
        unsigned total;
        asm("mov.u32 %0, %%total_smem_size;" : "=r"(total));
        if (threadIdx.x == 0) o[0] = total;
    }"""
    )
    out = zeros(128)
    gs.cuda(text)["k"][1, 128](out)
    assert out[0] == 48 * 1024
    assert (out[1:] == 1).all()
