// 04 split: K is cut in four, one part for each block of a cluster; the sums meet in distributed shared memory.
//
// Moves: blocks on the chip, to four times as many: 128 for 4096 weight rows, so that nearly all of 132 multiprocessors
//   read weights. Each reads a quarter of the columns of x: fewer bytes than with a quarter of the weight rows and all
//   columns. No scratch memory, no atomics, one order of additions.
// Mapping: blocks 4 b to 4 b + 3 are a cluster and have weight rows 128 b to 128 b + 127, each its quarter of the steps
//   of 32 columns; each then adds up and stores a quarter of the results, four weight rows per thread at a time.
//
// entry: skinny_gemm_split
// block: 256
// grid: 4*ceil(N/128) ceil(M/32)
// shared: 3*2*(128+32)*(64+8)

#include <cuda_fp16.h>

#if __CUDA_ARCH__ >= 900
#define CLUSTER __cluster_dims__(SPLITS, 1, 1)
#else
#define CLUSTER  // older chips have no clusters: it compiles, and does not run
#endif

constexpr int WARPS = 8;
constexpr int THREADS = 32 * WARPS;
constexpr int TALL = 16 * WARPS;     // weight rows of a block
constexpr int ROWS = 32;             // of x, of a block
constexpr int COLUMNS = 64;          // of a stage
constexpr int PITCH = COLUMNS + 8;   // 16 bytes more: the 8 rows that ldmatrix reads at a time lie in different banks
constexpr int STAGES = 3;
constexpr int SPLITS = 4;            // of K
constexpr int SUMS = TALL + 4;       // floats of a row of sums, padded against bank conflicts
constexpr int VECTORS = COLUMNS / 8; // of 16 bytes, in a stage's row

struct Stage {
    __half weight[TALL][PITCH];
    __half x[ROWS][PITCH];
};

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

__device__ __forceinline__ void ldmatrix(unsigned int (&r)[4], const __half* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
}

__device__ __forceinline__ void mma(float (&c)[4], const unsigned int (&a)[4], unsigned int b0, unsigned int b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Ask for the columns of a stage, from `column` on; rows that do not exist are the last one again, and not stored.
__device__ __forceinline__ void fetch(
    Stage& stage, const __half* x, const __half* weight, int column, int end, int K, int M, int N)
{
    for (int i = threadIdx.x; i < (TALL + ROWS) * VECTORS; i += THREADS) {
        const int row = i / VECTORS, c = i % VECTORS * 8;
        const bool heavy = row < TALL;
        const int from = heavy ? min((int)blockIdx.x / SPLITS * TALL + row, N - 1)
                               : min((int)blockIdx.y * ROWS + row - TALL, M - 1);
        const __half* source = (heavy ? weight : x) + (size_t)from * K + column + c;
        __half* target = heavy ? &stage.weight[row][c] : &stage.x[row - TALL][c];
        if (column + c < end)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(target)), "l"(source) : "memory");
    }
}

// Everyone in the cluster has come here, and what they have written to shared memory is seen.
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

extern "C" __global__ void CLUSTER __launch_bounds__(THREADS) skinny_gemm_split(
    const __half* __restrict__ x, const __half* __restrict__ weight, const __half* __restrict__ bias,
    __half* __restrict__ y, int M, int N, int steps)
{
    extern __shared__ __align__(16) unsigned char memory[];
    Stage* stages = reinterpret_cast<Stage*>(memory);
    float* sums = reinterpret_cast<float*>(memory);  // [ROWS][SUMS], when the stages are done with
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, K = 32 * steps;
    const int rank = blockIdx.x % SPLITS;
    const int begin = steps * rank / SPLITS * 32, end = steps * (rank + 1) / SPLITS * 32;

#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
        fetch(stages[s], x, weight, begin + s * COLUMNS, end, K, M, N);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    float sum[ROWS / 8][4] = {};
    int at = 0;
    for (int column = begin; column < end; column += COLUMNS) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();  // the stage is there for all, and all have left the one that is filled next
        fetch(stages[(at + STAGES - 1) % STAGES], x, weight, column + (STAGES - 1) * COLUMNS, end, K, M, N);
        asm volatile("cp.async.commit_group;" ::: "memory");
        const Stage& stage = stages[at];
        for (int k = 0; k < min(COLUMNS, end - column); k += 32) {
            unsigned int a[2][4], b[4];
            ldmatrix(a[0], &stage.weight[warp * 16 + lane % 16][k + lane / 16 * 8]);
            ldmatrix(a[1], &stage.weight[warp * 16 + lane % 16][k + 16 + lane / 16 * 8]);
#pragma unroll
            for (int j = 0; j < ROWS / 8; ++j) {
                ldmatrix(b, &stage.x[j * 8 + lane % 8][k + lane / 8 * 8]);
                mma(sum[j], a[0], b[0], b[1]);
                mma(sum[j], a[1], b[2], b[3]);
            }
        }
        at = (at + 1) % STAGES;
    }

    __syncthreads();
#pragma unroll
    for (int j = 0; j < ROWS / 8; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            sums[(j * 8 + lane % 4 * 2 + i % 2) * SUMS + warp * 16 + lane / 4 + i / 2 * 8] = sum[j][i];
    }
    cluster_barrier();
    for (int i = rank * THREADS + threadIdx.x; i < ROWS * TALL / 4; i += SPLITS * THREADS) {
        const int row = i / (TALL / 4), column = i % (TALL / 4) * 4;
        const int m = blockIdx.y * ROWS + row, n = blockIdx.x / SPLITS * TALL + column;
        if (m >= M) break;
        const float4 all = total(sums + row * SUMS + column);
        const float values[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
        for (int e = 0; e < 4; ++e)
            if (n + e < N) y[(size_t)m * N + n + e] = __float2half(values[e] + __half2float(bias[n + e]));
    }
    cluster_barrier();  // nobody leaves while others read its sums
}
