// 06 cluster: eight blocks share a very long row, an eighth in the registers of each; they exchange maxima and sums
//   through each other's shared memory, where barriers count the bytes: that of a whole cluster would wait for all that
//   was written to global memory, too.
//
// Moves: reads of x for rows that one block cannot hold, from two to one; multiprocessors at work on few long rows.
// Mapping: thread t of rank r in its cluster is lane 256 r + t of 2,048; lane l has vectors l, l + 2,048 ..., up to
//   KEPT of them, 16 bytes each: 65,536 elements of 4 bytes. Cluster c -> rows c, c + clusters ... A row that one
//   block can hold has a block instead, 256 lanes. Longer rows, and those not to be read by 16 bytes, are read twice.
//
// entry: softmax_cluster
// block: 256
// grid: 8*min(rows, 3*SMS)
// needs: 9.0

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef THREADS
#define THREADS 256  // of a block
#endif
#ifndef KEPT
#define KEPT 8  // vectors per thread
#endif
#ifndef RESIDENT
#define RESIDENT 3  // blocks of a multiprocessor: one reads while others exponentiate and write
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

struct Running {
    float largest, sum;
};

typedef unsigned long long Barrier;

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

__device__ __forceinline__ void prepare(Barrier* barrier)  // of one arrival
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(barrier)) : "memory");
}

__device__ __forceinline__ void one_arrives(Barrier* barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 ::"r"(address(barrier)), "r"(bytes) : "memory");
}

__device__ __forceinline__ void wait(Barrier* there, int parity)
{
    unsigned int done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(address(there)), "r"(parity) : "memory");
    } while (!done);
}

// Eight bytes into the same place of another block of the cluster, where a barrier counts them.
__device__ __forceinline__ void tell(Running what, Running* place, Barrier* told, int rank)
{
    const unsigned long long bits = (unsigned long long)__float_as_uint(what.sum) << 32 | __float_as_uint(what.largest);
    asm volatile("{ .reg .b32 to, at;\n"
                 "mapa.shared::cluster.u32 to, %0, %3;\n"
                 "mapa.shared::cluster.u32 at, %1, %3;\n"
                 "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [to], %2, [at]; }"
                 ::"r"(address(place)), "r"(address(told)), "l"(bits), "r"(rank) : "memory");
}
#endif

// The sum so far, taken from `from` down, taken from `to` down instead; before the first element both are -Inf.
__device__ __forceinline__ float rescaled(float sum, float from, float to)
{
    return sum * __expf(from - (to == -CUDART_INF_F ? 0.0f : to));
}

__device__ __forceinline__ Running of_warp(Running lane)
{
    float largest = lane.largest;
    for (int offset = 16; offset > 0; offset /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(ALL_LANES, largest, offset));
    float sum = rescaled(lane.sum, lane.largest, largest);
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, offset);
    return {largest, sum};
}

// What warps or blocks have, put together by each warp: a lane takes one part.
template <int COUNT>
__device__ __forceinline__ Running joined(const Running (&parts)[COUNT])
{
    const int lane = threadIdx.x % 32;
    return of_warp(lane < COUNT ? parts[lane] : Running{-CUDART_INF_F, 0.0f});
}

// What blocks of a cluster tell each other. Two places in turn: others may be a row behind the one that writes.
struct Exchange {
    Running parts[2][CLUSTER];
    Barrier told[2];
};

// What all lanes of a row have, put together.
template <int BLOCKS>
__device__ Running of_row(Running lane, Exchange& exchange, int turn)
{
    __shared__ Running of_warps[2][WARPS];
    const int place = turn & 1;
    const Running mine = of_warp(lane);
    if (threadIdx.x % 32 == 0) of_warps[place][threadIdx.x / 32] = mine;
    __syncthreads();
    const Running block = joined(of_warps[place]);
    if (BLOCKS == 1) return block;
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0) one_arrives(&exchange.told[place], sizeof(Running) * CLUSTER);
    if (threadIdx.x < CLUSTER)  // thread b tells block b
        tell(block, &exchange.parts[place][cg::this_cluster().block_rank()], &exchange.told[place], threadIdx.x);
    wait(&exchange.told[place], turn / 2 & 1);
#endif
    return joined(exchange.parts[place]);
}

template <int BLOCKS>
__device__ void in_two_passes(const ELEMENT* x, ELEMENT* y, int columns, int lane, Exchange& exchange, int turn)
{
    Running total = {-CUDART_INF_F, 0.0f};
    for (int i = lane; i < columns; i += BLOCKS * THREADS) {
        const float a = float(x[i]), now = fmaxf(total.largest, a);
        total = {now, rescaled(total.sum, total.largest, now) + rescaled(1.0f, a, now)};
    }
    total = of_row<BLOCKS>(total, exchange, turn);
    const float factor = 1.0f / total.sum;
    for (int i = lane; i < columns; i += BLOCKS * THREADS)
        y[i] = ELEMENT(__expf(float(x[i]) - total.largest) * factor);
}

template <int BLOCKS, int MOST>  // vectors per thread
__device__ void in_registers(const ELEMENT* x, ELEMENT* y, int columns, int lane, Exchange& exchange, int turn)
{
    constexpr int LANES = BLOCKS * THREADS;
    const int vectors = columns / VECTOR;
    Vector kept[MOST];
#pragma unroll
    for (int k = 0; k < MOST; ++k)
        if (lane + k * LANES < vectors) kept[k].raw = reinterpret_cast<const uint4*>(x)[lane + k * LANES];
    Running total = {-CUDART_INF_F, 0.0f};
#pragma unroll
    for (int k = 0; k < MOST; ++k) {
        if (lane + k * LANES >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) total.largest = fmaxf(total.largest, float(kept[k][e]));
    }
#pragma unroll
    for (int k = 0; k < MOST; ++k) {
        if (lane + k * LANES >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) total.sum += rescaled(1.0f, float(kept[k][e]), total.largest);
    }
    total = of_row<BLOCKS>(total, exchange, turn);
    const float factor = 1.0f / total.sum;
#pragma unroll
    for (int k = 0; k < MOST; ++k) {
        if (lane + k * LANES >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) kept[k][e] = ELEMENT(__expf(float(kept[k][e]) - total.largest) * factor);
        reinterpret_cast<uint4*>(y)[lane + k * LANES] = kept[k].raw;
    }
}

// Rows `first`, `first` + `step` ... by BLOCKS blocks each.
template <int BLOCKS>
__device__ void rows_from(
    const ELEMENT* x, ELEMENT* y, int rows, int columns, int first, int step, int lane, Exchange& exchange)
{
    int turn = 0;
    for (long long row = first; row < rows; row += step, ++turn) {
        const ELEMENT* from = x + row * columns;
        ELEMENT* to = y + row * columns;
        const bool whole = (((size_t)from | (size_t)to) & 15) == 0 && columns % VECTOR == 0;
        const int needed = whole ? (columns + BLOCKS * THREADS * VECTOR - 1) / (BLOCKS * THREADS * VECTOR) : KEPT + 1;
        if (needed <= KEPT / 4) in_registers<BLOCKS, KEPT / 4>(from, to, columns, lane, exchange, turn);
        else if (needed <= KEPT / 2) in_registers<BLOCKS, KEPT / 2>(from, to, columns, lane, exchange, turn);
        else if (needed <= KEPT) in_registers<BLOCKS, KEPT>(from, to, columns, lane, exchange, turn);
        else in_two_passes<BLOCKS>(from, to, columns, lane, exchange, turn);
    }
}

extern "C" __global__ void IN_CLUSTERS __launch_bounds__(THREADS, RESIDENT) softmax_cluster(
    const ELEMENT* __restrict__ x, ELEMENT* __restrict__ y, int rows, int columns)
{
    __shared__ Exchange exchange;
#if __CUDA_ARCH__ >= 900
    if (columns > KEPT * THREADS * VECTOR) {
        if (threadIdx.x == 0) {
            for (Barrier& each : exchange.told) prepare(&each);
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        }
        cg::cluster_group cluster = cg::this_cluster();
        cluster.sync();  // all of them have begun, and their barriers are there
        const int lane = cluster.block_rank() * THREADS + threadIdx.x;
        return rows_from<CLUSTER>(x, y, rows, columns, blockIdx.x / CLUSTER, gridDim.x / CLUSTER, lane, exchange);
    }
#endif
    rows_from<1>(x, y, rows, columns, blockIdx.x, gridDim.x, threadIdx.x, exchange);
}
