// 05 bulk ring: the copy engine brings the next rows while this one is exponentiated and written.
//
// Moves: nothing less; bytes on their way, to STAGES rows of up to 64 KiB a multiprocessor, for which no register
//   waits. Rung 04 loads a row, waits, computes, writes: where a row takes a block, the memory stands idle between.
// Mapping: a block at a time on each multiprocessor; thread t of T -> vectors of 16 bytes t, t + T ... of the row,
//   block b -> rows b, b + blocks ... One thread asks for a later row when all have taken theirs out of its place. With
//   CLUSTER blocks a row that no block could hold is shared: rank r has a slice of it. Rows that are no whole number of
//   vectors, or longer than the ring's places, are read twice by the threads.
//
// entry: softmax_bulk_ring
// block: 512
// grid: min(rows, SMS)
// shared: 3*65536
// needs: 9.0

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef CLUSTER
#define CLUSTER 1  // blocks of a row
#endif
#if __CUDA_ARCH__ >= 900
#define IN_CLUSTERS __cluster_dims__(CLUSTER, 1, 1)
#else
#define IN_CLUSTERS
#endif

namespace cg = cooperative_groups;
constexpr int THREADS = 512;
constexpr int KEPT = 8;  // vectors per thread
constexpr int STAGES = 3;  // slices on their way
constexpr int VECTOR = 16 / sizeof(ELEMENT);
constexpr int SLICE = THREADS * KEPT;  // vectors, at most
constexpr int WARPS = THREADS / 32;
constexpr unsigned int ALL_LANES = 0xffffffffu;

typedef unsigned long long Barrier;

struct Vector {
    uint4 raw;
    __device__ ELEMENT& operator[](int i) { return reinterpret_cast<ELEMENT*>(&raw)[i]; }
};

struct Running {
    float largest, sum;
};

// -- barriers and copies ----------------------------------------------------------------------------------------------
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

__device__ __forceinline__ void ask(uint4* place, const uint4* from, int vectors, Barrier* there)
{
    one_arrives(there, 16 * vectors);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(address(place)), "l"(from), "r"(16 * vectors), "r"(address(there)) : "memory");
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

// -- sums of a row ----------------------------------------------------------------------------------------------------
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

// What all threads of a block have. Every one has read its share of the row by then.
__device__ __forceinline__ Running of_block(Running thread, int turn)
{
    __shared__ Running of_warps[2][WARPS];
    const Running mine = of_warp(thread);
    if (threadIdx.x % 32 == 0) of_warps[turn & 1][threadIdx.x / 32] = mine;
    __syncthreads();
    return joined(of_warps[turn & 1]);
}

// What blocks of a cluster tell each other. Two places in turn: others may be a row behind the one that writes.
struct Exchange {
    Running parts[2][CLUSTER];
    Barrier told[2];
};

// What all blocks of a row have. A cluster's barrier would wait for what was written to global memory, too.
__device__ __forceinline__ Running of_row(Running block, Exchange& exchange, int rank, int blocks, int turn)
{
#if __CUDA_ARCH__ >= 900
    if (CLUSTER > 1 && blocks > 1) {
        const int place = turn & 1;
        if (threadIdx.x == 0) one_arrives(&exchange.told[place], sizeof(Running) * CLUSTER);
        if (threadIdx.x < CLUSTER)  // thread b tells block b
            tell(block, &exchange.parts[place][rank], &exchange.told[place], threadIdx.x);
        wait(&exchange.told[place], turn / 2 & 1);
        return joined(exchange.parts[place]);
    }
#endif
    return block;
}

// -- a slice ----------------------------------------------------------------------------------------------------------
// This thread's vectors of it, in registers, with the largest element and the sum below it.
__device__ __forceinline__ Running taken(Vector (&kept)[KEPT], const uint4* slice, int vectors)
{
    Running mine = {-CUDART_INF_F, 0.0f};
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
        const int v = threadIdx.x + k * THREADS;
        if (v >= vectors) break;
        kept[k].raw = slice[v];
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) mine.largest = fmaxf(mine.largest, float(kept[k][e]));
    }
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
        if (threadIdx.x + k * THREADS >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) mine.sum += rescaled(1.0f, float(kept[k][e]), mine.largest);
    }
    return mine;
}

__device__ __forceinline__ void written(uint4* slice, Vector (&kept)[KEPT], int vectors, Running row)
{
    const float factor = 1.0f / row.sum;
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
        const int v = threadIdx.x + k * THREADS;
        if (v >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) kept[k][e] = ELEMENT(__expf(float(kept[k][e]) - row.largest) * factor);
        slice[v] = kept[k].raw;
    }
}

// -- rows -------------------------------------------------------------------------------------------------------------
__device__ void in_two_passes(
    const ELEMENT* x, ELEMENT* y, int columns, Exchange& exchange, int rank, int blocks, int turn)
{
    Running mine = {-CUDART_INF_F, 0.0f};
    const int first = rank * THREADS + threadIdx.x;
    for (int i = first; i < columns; i += blocks * THREADS) {
        const float a = float(x[i]), now = fmaxf(mine.largest, a);
        mine = {now, rescaled(mine.sum, mine.largest, now) + rescaled(1.0f, a, now)};
    }
    const Running row = of_row(of_block(mine, turn), exchange, rank, blocks, turn);
    const float factor = 1.0f / row.sum;
    for (int i = first; i < columns; i += blocks * THREADS)
        y[i] = ELEMENT(__expf(float(x[i]) - row.largest) * factor);
}

extern "C" __global__ void IN_CLUSTERS __launch_bounds__(THREADS, 1) softmax_bulk_ring(
    const ELEMENT* __restrict__ x, ELEMENT* __restrict__ y, int rows, int columns)
{
    __shared__ Exchange exchange;
    int rank = 0, blocks = 1;  // of a row
#if __CUDA_ARCH__ >= 900
    extern __shared__ uint4 places[];
    __shared__ Barrier there[STAGES];
    const int whole = columns / VECTOR;
    if (threadIdx.x == 0) {
        for (Barrier& each : there) prepare(&each);
        for (Barrier& each : exchange.told) prepare(&each);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (CLUSTER > 1 && whole > SLICE) {
        cg::cluster_group cluster = cg::this_cluster();
        cluster.sync();  // all of them have begun, and their barriers are there
        rank = cluster.block_rank();
        blocks = CLUSTER;
    }
#endif
    const int first = blockIdx.x / blocks, step = gridDim.x / blocks;
#if __CUDA_ARCH__ >= 900
    const int share = (whole + blocks - 1) / blocks;
    if ((((size_t)x | (size_t)y) & 15) == 0 && columns % VECTOR == 0 && share <= SLICE) {
        const int begin = min(rank * share, whole), vectors = min(share, whole - begin);
        const uint4* from = reinterpret_cast<const uint4*>(x) + begin;
        uint4* to = reinterpret_cast<uint4*>(y) + begin;
        for (int s = 0; threadIdx.x == 0 && s < STAGES && first + (long long)s * step < rows && vectors; ++s)
            ask(places + s * share, from + (first + (long long)s * step) * whole, vectors, &there[s]);
        int turn = 0;
        for (long long row = first; row < rows; row += step, ++turn) {
            const int stage = turn % STAGES;
            if (vectors) wait(&there[stage], turn / STAGES & 1);
            Vector kept[KEPT];
            const Running block = of_block(taken(kept, places + stage * share, vectors), turn);
            const long long later = row + (long long)STAGES * step;
            if (threadIdx.x == 0 && later < rows && vectors)  // all have taken their shares of this place
                ask(places + stage * share, from + later * whole, vectors, &there[stage]);
            written(to + row * whole, kept, vectors, of_row(block, exchange, rank, blocks, turn));
        }
        return;
    }
#endif
    int turn = 0;
    for (long long row = first; row < rows; row += step, ++turn)
        in_two_passes(x + row * columns, y + row * columns, columns, exchange, rank, blocks, turn);
}
