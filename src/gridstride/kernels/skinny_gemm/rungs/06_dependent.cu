// 06 dependent: the launch does not wait for the kernel before it, whose end hides the arrival of the weights.
//
// Moves: time in which memory idles between two kernels of a chain. griddepcontrol.launch_dependents, first thing, lets
//   the next kernel of the stream begin as soon as all blocks of this one have begun and there is room beside them;
//   griddepcontrol.wait, behind the request for all weights, waits until the kernels before are done and x is there.
//   Works where the launch allows it (programmatic stream serialisation); without that both instructions do nothing.
//   As x now comes last, its first COLUMNS columns are multiplied while the others are on their way.
// Mapping: as in 05, cut by macros: WARPS warps of 16 weight rows each; ROWS rows of x; K in SPLITS; DEPTH slots of
//   COLUMNS columns in a ring.
//   GATED: of each 16 weight rows 8 are gates and 8, from the matrix's other half, what they let through; y is
//   silu(gate) * up, half as wide.
//
// entry: skinny_gemm_dependent
// block: 256
// grid: 4*ceil(N/128) ceil(M/32)
// shared: 8*2*16*(256+8)*2 + 32*(64*ceil(steps/4)+16)

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

// Columns [from, to) of a block's rows of x as one group of copies, a warp to a row: nothing to divide once x is there.
// Rows that do not exist are the last one again.
__device__ __forceinline__ void fetch_x(
    ELEMENT* to_shared, const ELEMENT* x, int pitch, int from, int to, int first_m, int M, int K)
{
    for (int m = threadIdx.x / 32; m < ROWS; m += WARPS) {
        const ELEMENT* row = x + (size_t)min(first_m + m, M - 1) * K;
        for (int k = from + threadIdx.x % 32 * 8; k < to; k += 32 * 8)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                         ::"r"(address(to_shared + m * pitch + k)), "l"(row + k) : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// -- products ---------------------------------------------------------------------------------------------------------
__device__ __forceinline__ void ldmatrix(unsigned int (&r)[4], const ELEMENT* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
}

#define MMA(type) \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
        "{%0, %1, %2, %3};" \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))

__device__ __forceinline__ void mma(
    float (&c)[4], const unsigned int (&a)[4], unsigned int b0, unsigned int b1, __half)
{
    MMA("f16");
}

__device__ __forceinline__ void mma(
    float (&c)[4], const unsigned int (&a)[4], unsigned int b0, unsigned int b1, __nv_bfloat16)
{
    MMA("bf16");
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

extern "C" __global__ void CLUSTER __launch_bounds__(THREADS) skinny_gemm_dependent(
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
    const int parts = (columns + COLUMNS - 1) / COLUMNS, x_pitch = (steps + SPLITS - 1) / SPLITS * 32 + 8;
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
    fetch_x(shared_x, x + begin, x_pitch, 0, min(COLUMNS, columns), first_m, M, K);
    fetch_x(shared_x, x + begin, x_pitch, COLUMNS, columns, first_m, M, K);

    float sum[ROWS / 8][4] = {};
    for (int part = 0; part < parts; ++part) {
        if (part == 0) asm volatile("cp.async.wait_group 1;" ::: "memory");  // x for this part is there,
        if (part == 1) asm volatile("cp.async.wait_group 0;" ::: "memory");  // and for all that follow
        if (part < 2) __syncthreads();
        if (part == 0) { MARK(3) }
        wait(&full[warp][part % DEPTH], part / DEPTH & 1);
        if (part == 0) { MARK(4) }
        const ELEMENT* a_row = ring[part % DEPTH][lane % 16] + lane / 16 * 8;
        const ELEMENT* b_row = shared_x + lane % 8 * x_pitch + part * COLUMNS + lane / 8 * 8;
        for (int k = 0; k < min(COLUMNS, columns - part * COLUMNS); k += 32) {
            unsigned int a[2][4], b[4];
            ldmatrix(a[0], a_row + k);
            ldmatrix(a[1], a_row + k + 16);
#pragma unroll
            for (int j = 0; j < ROWS / 8; ++j) {
                ldmatrix(b, b_row + j * 8 * x_pitch + k);
                mma(sum[j], a[0], b[0], b[1], ELEMENT());
                mma(sum[j], a[1], b[2], b[3], ELEMENT());
            }
        }
        __syncwarp();  // all lanes have read the slot
        if (part + DEPTH < parts) feed(part + DEPTH);
    }

    MARK(5)
    __syncthreads();
#pragma unroll
    for (int j = 0; j < ROWS / 8; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            weights.sums[j * 8 + lane % 4 * 2 + i % 2][warp * LOW + lane / 4 + i / 2 * 8] = sum[j][i];
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
