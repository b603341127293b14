"""CUB's block and warp primitives as CUDA ships them, plain and under the sanitizer, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs

BUILDS = pytest.mark.parametrize("sanitize", [False, True], ids=["fast", "observed"])
HEAD = "#include <cub/cub.cuh>\n"


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@BUILDS
def test_every_way_to_reduce_and_to_scan_a_block(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        HEAD
        + """template <cub::BlockReduceAlgorithm A> __device__ int reduce(int v) {
        using R = cub::BlockReduce<int, 96, A>;
        __shared__ typename R::TempStorage t;
        int sum = R(t).Sum(v);
        __syncthreads();
        return sum;
    }
    template <cub::BlockScanAlgorithm A> __device__ int scan(int v, int &total) {
        using S = cub::BlockScan<int, 96, A>;
        __shared__ typename S::TempStorage t;
        int out;
        S(t).InclusiveSum(v, out, total);
        __syncthreads();
        return out;
    }
    struct Max { __device__ int operator()(int a, int b) const { return a > b ? a : b; } };
    extern "C" __global__ void k(const int *x, int *sums, int *scans, int *totals, int few) {
        int i = threadIdx.x, v = x[i];
        int a = reduce<cub::BLOCK_REDUCE_RAKING>(v), b = reduce<cub::BLOCK_REDUCE_WARP_REDUCTIONS>(v);
        int c = reduce<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(v);
        using R = cub::BlockReduce<int, 96>;
        __shared__ typename R::TempStorage t;
        int d = R(t).Reduce(v, Max{}, few);
        if (i == 0) { sums[0] = a; sums[1] = b; sums[2] = c; sums[3] = d; }
        int total[3];
        scans[i] = scan<cub::BLOCK_SCAN_RAKING>(v, total[0]);
        scans[96 + i] = scan<cub::BLOCK_SCAN_RAKING_MEMOIZE>(v, total[1]);
        scans[192 + i] = scan<cub::BLOCK_SCAN_WARP_SCANS>(v, total[2]);
        if (i == 95) for (int j = 0; j < 3; ++j) totals[j] = total[j];
    }"""
    )["k"]
    x = rng().integers(-1000, 1000, 96).astype(np.int32)
    sums, scans, totals = np.zeros(4, np.int32), np.zeros(288, np.int32), np.zeros(3, np.int32)
    kernel[1, 96](x, sums, scans, totals, 50)
    assert sums.tolist() == [x.sum()] * 3 + [x[:50].max()]
    assert (scans.reshape(3, 96) == x.cumsum()).all()
    assert (totals == x.sum()).all()


@BUILDS
def test_tiles_are_loaded_exchanged_and_stored_in_every_arrangement(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        HEAD
        + """template <cub::BlockLoadAlgorithm L, cub::BlockStoreAlgorithm S>
    __device__ void through(const double *x, double *y, int n) {
        using Load = cub::BlockLoad<double, 64, 4, L>;
        using Store = cub::BlockStore<double, 64, 4, S>;
        __shared__ union { typename Load::TempStorage l; typename Store::TempStorage s; } t;
        double v[4];
        Load(t.l).Load(x, v, n, -1.0);
        __syncthreads();
        for (int j = 0; j < 4; ++j) v[j] *= 2;
        Store(t.s).Store(y, v, n);
        __syncthreads();
    }
    extern "C" __global__ void k(const double *x, double *y, int *o, int n) {
        through<cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>(x, y, n);
        through<cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED>(x, y + 256, n);
        through<cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE>(x, y + 512, n);
        through<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>(x, y + 768, n);
        through<cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>(x, y + 1024, n);
        using Exchange = cub::BlockExchange<int, 64, 4>;
        __shared__ typename Exchange::TempStorage t;
        int v[4], w[4];
        for (int j = 0; j < 4; ++j) v[j] = 4 * threadIdx.x + j;
        Exchange(t).BlockedToStriped(v, w);
        for (int j = 0; j < 4; ++j) o[4 * threadIdx.x + j] = w[j];
        __syncthreads();
        Exchange(t).StripedToBlocked(w, w);
        for (int j = 0; j < 4; ++j) o[256 + 4 * threadIdx.x + j] = w[j];
        __syncthreads();
        int ranks[4];
        for (int j = 0; j < 4; ++j) ranks[j] = 255 - v[j];
        Exchange(t).ScatterToStriped(v, w, ranks);
        for (int j = 0; j < 4; ++j) o[512 + 64 * j + threadIdx.x] = w[j];
    }"""
    )["k"]
    x, y, o = rng().random(256), np.zeros((5, 256)), np.zeros(768, np.int32)
    kernel[1, 64](x, y.reshape(-1), o, 201)
    assert (y[:, :201] == 2 * x[:201]).all()
    assert not y[:, 201:].any()
    assert (o[:256].reshape(64, 4).T.ravel() == np.arange(256)).all()
    assert (o[256:512] == np.arange(256)).all()
    assert (o[512:] == np.arange(256)[::-1]).all()


@BUILDS
def test_blocks_are_sorted_ranked_and_counted(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        HEAD
        + """struct Less { __device__ bool operator()(float a, float b) const { return a < b; } };
    extern "C" __global__ void k(const float *keys, const int *values, float *by_merge, float *by_radix, int *carried,
                                 int *counts, const unsigned char *bytes, int *heads) {
        using Merge = cub::BlockMergeSort<float, 128, 3>;
        using Radix = cub::BlockRadixSort<float, 128, 3, int>;
        using Histogram = cub::BlockHistogram<unsigned char, 128, 3, 16, cub::BLOCK_HISTO_ATOMIC>;
        using Sorted = cub::BlockHistogram<unsigned char, 128, 3, 16, cub::BLOCK_HISTO_SORT>;
        using Flags = cub::BlockDiscontinuity<float, 128>;
        __shared__ union { typename Merge::TempStorage merge; typename Radix::TempStorage radix;
            typename Histogram::TempStorage histogram; typename Sorted::TempStorage sorted;
            typename Flags::TempStorage flags; } t;
        __shared__ unsigned bins[2][16];
        int i = threadIdx.x, v[3], head[3];
        float k[3], m[3];
        unsigned char b[3], c[3];
        for (int j = 0; j < 3; ++j) {
            k[j] = m[j] = keys[3 * i + j]; v[j] = values[3 * i + j]; b[j] = c[j] = bytes[3 * i + j];
        }
        Merge(t.merge).Sort(m, Less{});
        __syncthreads();
        Radix(t.radix).SortDescending(k, v);
        __syncthreads();
        Histogram(t.histogram).Histogram(b, bins[0]);
        __syncthreads();
        Sorted(t.sorted).Histogram(c, bins[1]);
        __syncthreads();
        Flags(t.flags).FlagHeads(head, m, cuda::std::not_equal_to<>{});
        for (int j = 0; j < 3; ++j) {
            by_merge[3 * i + j] = m[j]; by_radix[3 * i + j] = k[j];
            carried[3 * i + j] = v[j]; heads[3 * i + j] = head[j];
        }
        if (i < 32) counts[i] = bins[i / 16][i % 16];
    }"""
    )["k"]
    keys = (rng().integers(-40, 40, 384) / 4).astype(np.float32)
    values, digits = np.arange(384, dtype=np.int32), rng().integers(0, 16, 384).astype(np.uint8)
    merged, sorted_, carried = np.zeros(384, np.float32), np.zeros(384, np.float32), np.zeros(384, np.int32)
    counts, heads = np.zeros(32, np.int32), np.zeros(384, np.int32)
    kernel[1, 128](keys, values, merged, sorted_, carried, counts, digits, heads)
    assert (merged == np.sort(keys)).all()
    assert (sorted_ == np.sort(keys)[::-1]).all()
    assert (keys[carried] == sorted_).all()
    assert sorted(carried) == list(range(384))
    assert (counts.reshape(2, 16) == np.bincount(digits, minlength=16)).all()
    assert (heads[1:] == (np.diff(merged) != 0)).all()


@BUILDS
def test_warps_reduce_scan_sort_and_exchange(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        HEAD
        + """extern "C" __global__ void k(const int *x, int *o, double *d) {
        using Sixteen = cub::WarpReduce<int, 16>;
        using Scan = cub::WarpScan<double>;
        using Sort = cub::WarpMergeSort<int, 2, 32>;
        using Exchange = cub::WarpExchange<int, 4>;
        using Segments = cub::WarpReduce<int>;
        __shared__ typename Sixteen::TempStorage a[4];
        __shared__ typename Scan::TempStorage b[2];
        __shared__ typename Sort::TempStorage c[2];
        __shared__ typename Exchange::TempStorage e[2];
        __shared__ typename Segments::TempStorage f[2];
        int i = threadIdx.x, w = i / 32;
        int sum = Sixteen(a[i / 16]).Sum(x[i]);
        if (i % 16 == 0) o[i / 16] = sum;
        double in = x[i] / 8.0, out, all;
        Scan(b[w]).ExclusiveSum(in, out, all);
        d[i] = out;
        if (i % 32 == 0) d[64 + w] = all;
        int two[2] = {x[i], x[64 + i]};
        Sort(c[w]).Sort(two, [](int p, int q) { return p < q; });
        o[4 + 2 * i] = two[0]; o[4 + 2 * i + 1] = two[1];
        int four[4];
        for (int j = 0; j < 4; ++j) four[j] = 4 * (i % 32) + j;
        Exchange(e[w]).BlockedToStriped(four, four);
        for (int j = 0; j < 4; ++j) o[132 + 128 * w + 32 * j + i % 32] = four[j];
        int head = Segments(f[w]).HeadSegmentedSum(x[i], i % 8 == 0);
        if (i % 8 == 0) o[388 + i / 8] = head;
    }"""
    )["k"]
    x, o, d = rng().integers(-99, 99, 128).astype(np.int32), np.zeros(396, np.int32), np.zeros(66)
    kernel[1, 64](x, o, d)
    assert (o[:4] == x[:64].reshape(4, 16).sum(1)).all()
    scan = np.cumsum(x[:64].reshape(2, 32) / 8, axis=1)
    assert (d[:64].reshape(2, 32)[:, 1:] == scan[:, :-1]).all()
    assert (d[64:] == scan[:, -1]).all()
    pairs = np.stack([x[:64], x[64:]], 1).reshape(2, 64)
    assert (o[4:132].reshape(2, 64) == np.sort(pairs, axis=1)).all()
    assert (o[132:388].reshape(2, 128) == np.arange(128)).all()
    assert (o[388:] == x[:64].reshape(8, 8).sum(1)).all()


@BUILDS
@pytest.mark.parametrize("type_", ["int", "long long"])
def test_a_scan_of_a_whole_array_in_one_pass_by_decoupled_look_back(
    gpu: gs.VirtualGPU, sanitize: bool, type_: str
) -> None:
    """A tile's state is one word with an int, and two arrays that a fence orders with 8 bytes or more."""
    gpu.sanitize = sanitize
    module = gs.cuda(
        f"""#include <cub/block/block_scan.cuh>
    #include <cub/agent/single_pass_scan_operators.cuh>
    using T = {type_};"""
        + """
    using State = cub::ScanTileState<T>;
    __device__ State state_in(void *memory, int tiles) {
        State state;
        state.Init(tiles, memory, 1 << 16);
        return state;
    }
    extern "C" __global__ void start(void *memory, int tiles) { state_in(memory, tiles).InitializeStatus(tiles); }
    extern "C" __global__ void scan(void *memory, const T *x, T *y, int n) {
        using Scan = cub::BlockScan<T, 128>;
        using Prefix = cub::TilePrefixCallbackOp<T, cuda::std::plus<>, State>;
        __shared__ typename Scan::TempStorage scan;
        __shared__ typename Prefix::TempStorage prefix;
        State state = state_in(memory, gridDim.x);
        int i = blockIdx.x * 128 + threadIdx.x;
        T v = i < n ? x[i] : 0, out;
        if (blockIdx.x == 0) {
            T total;
            Scan(scan).ExclusiveSum(v, out, total);
            if (threadIdx.x == 0) state.SetInclusive(0, total);
        } else {
            Prefix op(state, prefix, cuda::std::plus<>{}, blockIdx.x);
            Scan(scan).ExclusiveScan(v, out, cuda::std::plus<>{}, op);
        }
        if (i < n) y[i] = out;
    }"""
    )
    n, tiles = 5000, 40
    x = rng().integers(-50, 50, n).astype(np.int32 if type_ == "int" else np.int64)
    y, memory = np.zeros_like(x), gs.empty(1 << 16, np.uint8)
    module["start"][1, 128](memory, tiles)
    module["scan"][tiles, 128](memory, x, y, n)
    assert (y == x.cumsum() - x).all()
