// 07 warpgroup: four warps multiply together, and x goes from shared memory to the tensor cores by itself.
//
// Moves: shared reads of x, from once per warp to once per four warps, and their instructions to none: wgmma takes x by
//   a descriptor, at the full rate of the tensor cores, of which mma.sync reaches less than two thirds. That counts for
//   many rows of x, with which mma takes as long as the weights. Registers, as no part of x is in them.
// Mapping: as in 06, WARPS a multiple of 4; the 16 weight rows of a warp are its part of a warpgroup's 64. They still
//   come through ldmatrix, as one side may be registers. x lies as [K / 8][ROWS][8]: 8 rows by 8 columns are 128 bytes
//   in a row, as the descriptor wants them without a swizzle.
//
// entry: skinny_gemm_warpgroup
// block: 256
// grid: 4*ceil(N/128) ceil(M/32)
// shared: 8*2*16*(256+8)*2 + 32*64*ceil(steps/4)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT __half
#endif
#ifndef WARPS
#define WARPS 8
#define ROWS 32      // of x, of a block
#define SPLITS 4     // of K
#define COLUMNS 256  // of a slot of the ring
#define DEPTH 2      // slots of a warp's ring
#define GATED 0
#endif

#if __CUDA_ARCH__ >= 900
#define CLUSTER __cluster_dims__(SPLITS, 1, 1)
#else
#define CLUSTER  // older chips have neither clusters nor bulk copies: it compiles, and does not run
#endif

constexpr int THREADS = 32 * WARPS;
constexpr int LOW = 16;                   // weight rows of a warp
constexpr int TALL = LOW * WARPS;         // of a block
constexpr int WIDE = TALL / (1 + GATED);  // columns of y that come of them
constexpr int PITCH = COLUMNS + 8;        // 16 bytes more: the 8 rows of an ldmatrix lie in different banks
constexpr int SUMS = TALL + 4;            // floats of a row of sums, padded against bank conflicts
constexpr int WIDTH = ROWS % 32 ? 8 : 32; // rows of x of one wgmma
constexpr int BATCH = 8;                  // times 16 columns: whose weights are in registers at a time
static_assert(WARPS % 4 == 0, "whole warpgroups");

typedef ELEMENT Slot[LOW][PITCH];

union Weights {
    Slot slots[WARPS][DEPTH];
    float sums[ROWS][SUMS];  // when the weights are done with
};

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

// -- copies -----------------------------------------------------------------------------------------------------------
typedef unsigned long long Barrier;

__device__ __forceinline__ void init(Barrier* barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void expect(Barrier* barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(barrier)), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void wait(Barrier* barrier, int parity)
{
    unsigned int done;
    do {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(address(barrier)), "r"(parity) : "memory");
    } while (!done);
    __syncwarp();  // the tensor cores want all lanes at once
}

// Weights leave L2 first: they are read once, and would push out what the next kernels want.
__device__ __forceinline__ void copy(ELEMENT* to, const ELEMENT* from, int bytes, Barrier* barrier)
{
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
        ::"r"(address(to)), "l"(from), "r"(bytes), "r"(address(barrier)), "l"(policy) : "memory");
}

// Columns [from, to) of a block's rows of x as one group of copies; a warp takes 8 rows by 32 columns at a time. Rows
// that do not exist are the last one again.
__device__ __forceinline__ void fetch_x(
    ELEMENT* to_shared, const ELEMENT* x, int from, int to, int first_m, int M, int K)
{
    const int lane = threadIdx.x % 32;
    for (int i = threadIdx.x / 32; i < ROWS / 8 * max(to - from, 0) / 32; i += WARPS) {
        const int m = i % (ROWS / 8) * 8 + lane % 8, k = from + i / (ROWS / 8) * 32 + lane / 8 * 8;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     ::"r"(address(to_shared + k * ROWS + m * 8)), "l"(x + (size_t)min(first_m + m, M - 1) * K + k)
                     : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// -- products ---------------------------------------------------------------------------------------------------------
__device__ __forceinline__ void ldmatrix(unsigned int (&r)[4], const ELEMENT* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
}

// Where 16 columns of x begin: the way to the next 8 columns and to the next 8 rows is in units of 16 bytes.
__device__ __forceinline__ unsigned long long descriptor(const ELEMENT* x)
{
    constexpr unsigned long long columns = ROWS, rows = 8;
    return (address(x) & 0x3ffff) >> 4 | columns << 16 | rows << 32;
}

#define A_AND_X "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(x)
#define FOUR(j) "+f"(c[j][0]), "+f"(c[j][1]), "+f"(c[j][2]), "+f"(c[j][3])
#define WGMMA(type) \
    if (WIDTH == 8) \
        asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0;\n" \
                     "wgmma.mma_async.sync.aligned.m64n8k16.f32." type "." type " {%0, %1, %2, %3}, " \
                     "{%4, %5, %6, %7}, %8, p, 1, 1, 0; }" : FOUR(0) : A_AND_X : "memory"); \
    else \
        asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0;\n" \
                     "wgmma.mma_async.sync.aligned.m64n32k16.f32." type "." type " {%0, %1, %2, %3, %4, %5, %6, %7, " \
                     "%8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19}, %20, p, 1, 1, 0; }" \
                     : FOUR(0), FOUR(1 % (WIDTH / 8)), FOUR(2 % (WIDTH / 8)), FOUR(3 % (WIDTH / 8)) \
                     : A_AND_X : "memory")

// Adds 64 weight rows by 16 columns times WIDTH rows of x to c; it has happened behind the wait.
__device__ __forceinline__ void multiply(
    float (&c)[WIDTH / 8][4], const unsigned int (&a)[4], unsigned long long x, __half)
{
    WGMMA("f16");
}

__device__ __forceinline__ void multiply(
    float (&c)[WIDTH / 8][4], const unsigned int (&a)[4], unsigned long long x, __nv_bfloat16)
{
    WGMMA("bf16");
}

// 16 COUNT columns of all products: weights through registers, x from shared memory.
template <int COUNT> __device__ __forceinline__ void add(
    float (&sum)[ROWS / WIDTH][WIDTH / 8][4], const ELEMENT* a_row, const ELEMENT* x)
{
    unsigned int a[COUNT][4];
#pragma unroll
    for (int i = 0; i < COUNT; ++i) ldmatrix(a[i], a_row + i * 16);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
#pragma unroll
        for (int j = 0; j < ROWS / WIDTH; ++j)
            multiply(sum[j], a[i], descriptor(x + i * 16 * ROWS + j * WIDTH * 8), ELEMENT());
    }
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// -- the cluster ------------------------------------------------------------------------------------------------------
__device__ __forceinline__ void cluster_barrier()
{
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

// Four neighbouring sums of all blocks of the cluster, added up in the order of their ranks.
__device__ __forceinline__ float4 total(const float* sums)
{
    float4 all = {};
#pragma unroll
    for (int rank = 0; rank < SPLITS; ++rank) {
        unsigned int there;
        float4 v;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address(sums)), "r"(rank));
        asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(there) : "memory");
        all = {all.x + v.x, all.y + v.y, all.z + v.z, all.w + v.w};
    }
    return all;
}

// What the sums from column n of y on become: with a bias, or gated, in the result's type.
__device__ __forceinline__ void put(ELEMENT* y, const float* sums, const ELEMENT* bias, int n, int N)
{
    const float4 all = total(sums);
    float values[4] = {all.x, all.y, all.z, all.w};
    const float4 others = GATED ? total(sums + 8) : all;
    const float ups[4] = {others.x, others.y, others.z, others.w};
    __align__(8) ELEMENT results[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
        if (bias && n + e < N) values[e] += float(bias[n + e]);
        if (GATED) {
            const float up = bias && n + e < N ? ups[e] + float(bias[N + n + e]) : ups[e];
            values[e] = values[e] / (1.0f + __expf(-values[e])) * up;
        }
        results[e] = ELEMENT(values[e]);
    }
    if (N % 4 == 0) {
        if (n < N) *reinterpret_cast<uint2*>(y + n) = *reinterpret_cast<const uint2*>(results);
    } else {
        for (int e = 0; e < 4 && n + e < N; ++e) y[n + e] = results[e];
    }
}

#ifdef TIMES  // cycles of the first block between marks, seven floats in place of y's first elements
#define MARK(place) if (threadIdx.x == 0) marks[place] = clock64();
#else
#define MARK(place)
#endif

extern "C" __global__ void CLUSTER __launch_bounds__(THREADS) skinny_gemm_warpgroup(
    const ELEMENT* __restrict__ x, const ELEMENT* __restrict__ weight, const ELEMENT* __restrict__ bias,
    ELEMENT* __restrict__ y, int M, int N, int steps)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#ifdef TIMES
    long long marks[8];
#endif
    MARK(0)
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ Barrier full[WARPS][DEPTH];
    Weights& weights = *reinterpret_cast<Weights*>(memory);
    ELEMENT* shared_x = reinterpret_cast<ELEMENT*>(memory + sizeof(Weights));
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, K = 32 * steps;
    const int rank = blockIdx.x % SPLITS, group = blockIdx.x / SPLITS, first_m = blockIdx.y * ROWS;
    const int begin = steps * rank / SPLITS * 32, columns = steps * (rank + 1) / SPLITS * 32 - begin;
    const int parts = (columns + COLUMNS - 1) / COLUMNS;
    const int width = N / (1 + GATED);

    // Rows that do not exist are the last one again here, too: what comes of them is not stored.
    Slot* ring = weights.slots[warp];
    const int low = warp * LOW + lane % LOW;
    const int row = GATED ? min(group * WIDE + low / 16 * 8 + low % 8, width - 1) + low % 16 / 8 * width
                          : min(group * WIDE + low, width - 1);
    const ELEMENT* mine = weight + (size_t)row * K + begin;
    const auto feed = [&](int part) {
        const int bytes = 2 * min(COLUMNS, columns - part * COLUMNS);
        Barrier* barrier = &full[warp][part % DEPTH];
        if (lane == 0) expect(barrier, LOW * bytes);
        if (lane < LOW) copy(ring[part % DEPTH][lane], mine + part * COLUMNS, bytes, barrier);
    };
    if (lane < DEPTH) init(&full[warp][lane]);
    __syncwarp();
    for (int part = 0; part < min(DEPTH, parts); ++part) feed(part);

    MARK(1)
    asm volatile("griddepcontrol.wait;" ::: "memory");  // weights are nobody's result, x is
    MARK(2)
    fetch_x(shared_x, x + begin, 0, min(COLUMNS, columns), first_m, M, K);
    fetch_x(shared_x, x + begin, COLUMNS, columns, first_m, M, K);

    float sum[ROWS / WIDTH][WIDTH / 8][4] = {};
    for (int part = 0; part < parts; ++part) {
        if (part == 0) asm volatile("cp.async.wait_group 1;" ::: "memory");  // x for this part is there,
        if (part == 1) asm volatile("cp.async.wait_group 0;" ::: "memory");  // and for all that follow
        if (part < 2) {
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // threads put x there, wgmma reads it
            __syncthreads();
        }
        if (part == 0) { MARK(3) }
        wait(&full[warp][part % DEPTH], part / DEPTH & 1);
        if (part == 0) { MARK(4) }
        const ELEMENT* a_row = ring[part % DEPTH][lane % 16] + lane / 16 * 8;
        const int width = min(COLUMNS, columns - part * COLUMNS);
        const ELEMENT* x_part = shared_x + part * COLUMNS * ROWS;
        int k = 0;
        for (; k + 16 * BATCH <= width; k += 16 * BATCH) add<BATCH>(sum, a_row + k, x_part + k * ROWS);
        for (; k < width; k += 32) add<2>(sum, a_row + k, x_part + k * ROWS);
        __syncwarp();  // all lanes have read the slot
        if (part + DEPTH < parts) feed(part + DEPTH);
    }

    MARK(5)
    __syncthreads();
#pragma unroll
    for (int j = 0; j < ROWS / 8; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            weights.sums[j * 8 + lane % 4 * 2 + i % 2][warp * LOW + lane / 4 + i / 2 * 8] =
                sum[j * 8 / WIDTH][j % (WIDTH / 8)][i];
    }
    cluster_barrier();
    MARK(6)
    for (int i = rank * THREADS + threadIdx.x; i < ROWS * WIDE / 4; i += SPLITS * THREADS) {
        const int m = i / (WIDE / 4), column = i % (WIDE / 4) * 4;
        if (first_m + m >= M) break;
        const float* sums = &weights.sums[m][GATED ? column / 8 * 16 + column % 8 : column];
        put(y + (size_t)(first_m + m) * width, sums, bias, group * WIDE + column, width);
    }
    cluster_barrier();  // nobody leaves while others read its sums
    MARK(7)
#ifdef TIMES
    if (threadIdx.x == 0 && blockIdx.x == 0)  // it has stored these results itself
        for (int i = 0; i < 7; ++i) reinterpret_cast<float*>(y)[i] = float(marks[i + 1] - marks[i]);
#endif
}
