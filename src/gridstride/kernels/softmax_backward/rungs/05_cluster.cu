// 05 cluster: eight blocks share a very long row, an eighth in the registers of each; they exchange their sums through
//   each other's shared memory.
//
// Moves: reads of rows that one block cannot hold, from two to one; multiprocessors at work on few long rows.
// Mapping: thread t of rank r in its cluster is lane 512 r + t of 4,096; lane l has vectors l, l + 4,096 ..., up to
//   KEPT of them, 16 bytes each: 131,072 elements of 4 bytes. Cluster c -> rows c, c + clusters ... A row that one
//   block can hold has a block instead, 512 lanes. Longer rows, and those not to be read by 16 bytes, are read twice.
//
// entry: softmax_backward_cluster
// block: 512
// grid: 8*min(rows, 2*SMS)
// needs: 9.0

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef KEPT
#define KEPT 8  // vectors per thread and input
#endif
#if __CUDA_ARCH__ >= 900
#define IN_CLUSTERS __cluster_dims__(8, 1, 1)
#else
#define IN_CLUSTERS
#endif

namespace cg = cooperative_groups;
constexpr int CLUSTER = 8;  // blocks
constexpr int THREADS = 512;
constexpr int WARPS = THREADS / 32;
constexpr int VECTOR = 16 / sizeof(ELEMENT);
constexpr unsigned int ALL_LANES = 0xffffffffu;

struct Vector {
    uint4 raw;
    __device__ ELEMENT& operator[](int i) { return reinterpret_cast<ELEMENT*>(&raw)[i]; }
};

struct Row {
    const ELEMENT *y, *dy;
    ELEMENT* dx;
};

__device__ __forceinline__ float of_warp(float lane)
{
    for (int offset = 16; offset > 0; offset /= 2) lane += __shfl_xor_sync(ALL_LANES, lane, offset);
    return lane;
}

// What warps or blocks have, added up by each warp: a lane takes one part.
template <int COUNT>
__device__ __forceinline__ float joined(const float (&parts)[COUNT])
{
    const int lane = threadIdx.x % 32;
    return of_warp(lane < COUNT ? parts[lane] : 0.0f);
}

// What all lanes of a row have, added up. Two places in turn: others may be a row behind the one that writes.
template <int BLOCKS>
__device__ float of_row(float lane, int turn)
{
    __shared__ float of_warps[2][WARPS], of_blocks[2][CLUSTER];
    const float mine = of_warp(lane);
    if (threadIdx.x % 32 == 0) of_warps[turn][threadIdx.x / 32] = mine;
    __syncthreads();
    const float block = joined(of_warps[turn]);
    if (BLOCKS == 1) return block;
#if __CUDA_ARCH__ >= 900
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x < CLUSTER)  // thread b tells block b
        *cluster.map_shared_rank(&of_blocks[turn][cluster.block_rank()], threadIdx.x) = block;
    cluster.sync();
#endif
    return joined(of_blocks[turn]);
}

template <int BLOCKS>
__device__ void in_two_passes(Row row, int columns, int lane, int turn)
{
    float sum = 0.0f;
    for (int i = lane; i < columns; i += BLOCKS * THREADS) sum += float(row.y[i]) * float(row.dy[i]);
    sum = of_row<BLOCKS>(sum, turn);
    for (int i = lane; i < columns; i += BLOCKS * THREADS)
        row.dx[i] = ELEMENT(float(row.y[i]) * (float(row.dy[i]) - sum));
}

template <int BLOCKS, int MOST>  // vectors per thread and input
__device__ void in_registers(Row row, int columns, int lane, int turn)
{
    constexpr int LANES = BLOCKS * THREADS;
    const int vectors = columns / VECTOR;
    Vector a[MOST], b[MOST];
#pragma unroll
    for (int k = 0; k < MOST; ++k) {
        if (lane + k * LANES >= vectors) break;
        a[k].raw = reinterpret_cast<const uint4*>(row.y)[lane + k * LANES];
        b[k].raw = reinterpret_cast<const uint4*>(row.dy)[lane + k * LANES];
    }
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < MOST; ++k) {
        if (lane + k * LANES >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) sum += float(a[k][e]) * float(b[k][e]);
    }
    sum = of_row<BLOCKS>(sum, turn);
#pragma unroll
    for (int k = 0; k < MOST; ++k) {
        if (lane + k * LANES >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) a[k][e] = ELEMENT(float(a[k][e]) * (float(b[k][e]) - sum));
        reinterpret_cast<uint4*>(row.dx)[lane + k * LANES] = a[k].raw;
    }
}

// Rows `first`, `first` + `step` ... by BLOCKS blocks each.
template <int BLOCKS>
__device__ void rows_from(Row all, int rows, int columns, int first, int step, int lane)
{
    int turn = 0;
    for (long long row = first; row < rows; row += step, turn ^= 1) {
        const long long start = row * columns;
        const Row one = {all.y + start, all.dy + start, all.dx + start};
        const bool whole = (((size_t)one.y | (size_t)one.dy | (size_t)one.dx) & 15) == 0 && columns % VECTOR == 0;
        const int needed = whole ? (columns + BLOCKS * THREADS * VECTOR - 1) / (BLOCKS * THREADS * VECTOR) : KEPT + 1;
        if (needed <= KEPT / 4) in_registers<BLOCKS, KEPT / 4>(one, columns, lane, turn);
        else if (needed <= KEPT) in_registers<BLOCKS, KEPT>(one, columns, lane, turn);
        else in_two_passes<BLOCKS>(one, columns, lane, turn);
    }
}

extern "C" __global__ void IN_CLUSTERS __launch_bounds__(THREADS) softmax_backward_cluster(
    const ELEMENT* __restrict__ y, const ELEMENT* __restrict__ dy, ELEMENT* __restrict__ dx, int rows, int columns)
{
    const Row all = {y, dy, dx};
#if __CUDA_ARCH__ >= 900
    if (columns > KEPT * THREADS * VECTOR) {
        cg::cluster_group cluster = cg::this_cluster();
        cluster.sync();  // all of them have begun, and their shared memory is there
        const int lane = cluster.block_rank() * THREADS + threadIdx.x;
        return rows_from<CLUSTER>(all, rows, columns, blockIdx.x / CLUSTER, gridDim.x / CLUSTER, lane);
    }
#endif
    rows_from<1>(all, rows, columns, blockIdx.x, gridDim.x, threadIdx.x);
}
