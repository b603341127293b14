// 04 cluster: eight blocks share a very long row, an eighth in the registers of each, and go on to the next with their
//   eighth of weight and bias in shared memory.
//
// Moves: reads of x for rows that one block cannot hold, from three to one; of weight and bias, from one for each row
//   to one for each cluster.
// Mapping: thread t of rank r in its cluster is lane THREADS r + t; lane l has vectors l, l + 8 THREADS ..., up to KEPT
//   of them, 16 bytes each: 65,536 elements of 4 bytes. Cluster c -> rows c, c + clusters ... A row that one block can
//   hold has a block instead, of which thread t is lane t. Longer rows, and those not to be read by 16 bytes, are read
//   three times.
//
// entry: layer_norm_cluster
// block: 256
// grid: 8*min(rows, max(1, SMS//4))
// shared: 2*4*8192
// needs: 9.0

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef THREADS
#define THREADS 256  // of a block
#endif
#ifndef KEPT
#define KEPT 8  // vectors per thread
#endif
#if __CUDA_ARCH__ >= 900
#define IN_CLUSTERS __cluster_dims__(8, 1, 1)
#else
#define IN_CLUSTERS
#endif

namespace cg = cooperative_groups;
constexpr int CLUSTER = 8;  // blocks
constexpr int WARPS = THREADS / 32;
constexpr int VECTOR = 16 / sizeof(ELEMENT);
constexpr unsigned int ALL_LANES = 0xffffffffu;

struct Vector {
    uint4 raw;
    __device__ ELEMENT& operator[](int i) { return reinterpret_cast<ELEMENT*>(&raw)[i]; }
};

__device__ __forceinline__ float of_warp(float value)
{
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(ALL_LANES, value, offset);
    return value;
}

// The sum of all lanes of a row. Four places in turn: others may be two sums behind the one that writes.
template <int BLOCKS>
__device__ float of_row(float lane, int& turn)
{
    __shared__ float of_warps[2][WARPS], of_blocks[4][CLUSTER];
    const int mine = threadIdx.x % 32;
    lane = of_warp(lane);
    if (mine == 0) of_warps[turn % 2][threadIdx.x / 32] = lane;
    __syncthreads();
    const float block = of_warp(mine < WARPS ? of_warps[turn % 2][mine] : 0.0f);
    if (BLOCKS == 1) {
        ++turn;
        return block;
    }
#if __CUDA_ARCH__ >= 900
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x < CLUSTER)  // thread b tells block b
        *cluster.map_shared_rank(&of_blocks[turn % 4][cluster.block_rank()], threadIdx.x) = block;
    cluster.sync();
#endif
    const float total = of_warp(mine < CLUSTER ? of_blocks[turn % 4][mine] : 0.0f);
    ++turn;
    return total;
}

struct Norm {
    const ELEMENT *x, *weight, *bias;  // weight and bias may be null
    ELEMENT* y;
    int columns, lane;
    float eps;
};

struct Statistics {
    float mean, rstd;
};

template <int BLOCKS>
__device__ Statistics in_three_passes(const Norm& all, const ELEMENT* x, ELEMENT* y, int& turn)
{
    float sum = 0.0f, squares = 0.0f;
    for (int i = all.lane; i < all.columns; i += BLOCKS * THREADS) sum += float(x[i]);
    const float mean = of_row<BLOCKS>(sum, turn) / all.columns;
    for (int i = all.lane; i < all.columns; i += BLOCKS * THREADS) squares += (float(x[i]) - mean) * (float(x[i]) - mean);
    const float rstd = rsqrtf(of_row<BLOCKS>(squares, turn) / all.columns + all.eps);
    for (int i = all.lane; i < all.columns; i += BLOCKS * THREADS) {
        const float w = all.weight ? float(all.weight[i]) : 1.0f, b = all.bias ? float(all.bias[i]) : 0.0f;
        y[i] = ELEMENT((float(x[i]) - mean) * rstd * w + b);
    }
    return {mean, rstd};
}

// A lane's vectors of weight and bias lie at its own places: nobody else reads them.
template <int BLOCKS>
__device__ __forceinline__ void keep(const Norm& all, Vector* weights, Vector* biases)
{
    const Vector ones = {}, *from_w = reinterpret_cast<const Vector*>(all.weight);
    const Vector* from_b = reinterpret_cast<const Vector*>(all.bias);
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
        const int v = all.lane + k * BLOCKS * THREADS, place = k * THREADS + threadIdx.x;
        if (v >= all.columns / VECTOR) break;
        Vector w = ones;
        for (int e = 0; e < VECTOR; ++e) w[e] = ELEMENT(1.0f);
        weights[place] = all.weight ? from_w[v] : w;
        biases[place] = all.bias ? from_b[v] : ones;
    }
}

template <int BLOCKS>
__device__ Statistics in_registers(const Norm& all, const ELEMENT* x, ELEMENT* y, const Vector* weights,
                                   const Vector* biases, int& turn)
{
    const int vectors = all.columns / VECTOR;
    Vector raw[KEPT];
#pragma unroll
    for (int k = 0; k < KEPT; ++k)
        if (all.lane + k * BLOCKS * THREADS < vectors)
            raw[k].raw = __ldcs(reinterpret_cast<const uint4*>(x) + all.lane + k * BLOCKS * THREADS);
    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
        if (all.lane + k * BLOCKS * THREADS >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) sum += float(raw[k][e]);
    }
    const float mean = of_row<BLOCKS>(sum, turn) / all.columns;
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
        if (all.lane + k * BLOCKS * THREADS >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) squares += (float(raw[k][e]) - mean) * (float(raw[k][e]) - mean);
    }
    const float rstd = rsqrtf(of_row<BLOCKS>(squares, turn) / all.columns + all.eps);
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
        if (all.lane + k * BLOCKS * THREADS >= vectors) break;
        Vector w = weights[k * THREADS + threadIdx.x], b = biases[k * THREADS + threadIdx.x];
#pragma unroll
        for (int e = 0; e < VECTOR; ++e)
            raw[k][e] = ELEMENT((float(raw[k][e]) - mean) * rstd * float(w[e]) + float(b[e]));
        __stcs(reinterpret_cast<uint4*>(y) + all.lane + k * BLOCKS * THREADS, raw[k].raw);
    }
    return {mean, rstd};
}

// Rows `first`, `first` + `step` ... by BLOCKS blocks each.
template <int BLOCKS>
__device__ void rows_from(const Norm& all, float* mean, float* rstd, int rows, int first, int step)
{
    extern __shared__ uint4 memory[];
    Vector *weights = reinterpret_cast<Vector*>(memory), *biases = weights + KEPT * THREADS;
    const size_t addresses = (size_t)all.x | (size_t)all.y | (size_t)all.weight | (size_t)all.bias;
    const bool fits = all.columns <= KEPT * BLOCKS * THREADS * VECTOR;
    const bool whole = (addresses & 15) == 0 && all.columns % VECTOR == 0 && fits;
    if (whole) keep<BLOCKS>(all, weights, biases);
    int turn = 0;
    for (long long row = first; row < rows; row += step) {
        const ELEMENT* x = all.x + row * all.columns;
        ELEMENT* y = all.y + row * all.columns;
        const Statistics found = whole ? in_registers<BLOCKS>(all, x, y, weights, biases, turn)
                                       : in_three_passes<BLOCKS>(all, x, y, turn);
        if (all.lane == 0) mean[row] = found.mean, rstd[row] = found.rstd;
    }
}

extern "C" __global__ void IN_CLUSTERS __launch_bounds__(THREADS, 2) layer_norm_cluster(
    const ELEMENT* __restrict__ x, const ELEMENT* __restrict__ weight, const ELEMENT* __restrict__ bias,
    ELEMENT* __restrict__ y, float* __restrict__ mean, float* __restrict__ rstd, int rows, int columns, float eps)
{
    Norm all = {x, weight, bias, y, columns, int(threadIdx.x), eps};
#if __CUDA_ARCH__ >= 900
    if (columns > KEPT * THREADS * VECTOR) {
        cg::cluster_group cluster = cg::this_cluster();
        cluster.sync();  // all of them have begun, and their shared memory is there
        all.lane += cluster.block_rank() * THREADS;
        return rows_from<CLUSTER>(all, mean, rstd, rows, blockIdx.x / CLUSTER, gridDim.x / CLUSTER);
    }
#endif
    rows_from<1>(all, mean, rstd, rows, blockIdx.x, gridDim.x);
}
