// 03 tensor cores: 16 weight rows are one side of an mma, 8 rows of x the other; both come through shared memory.
//
// Moves: arithmetic, off the way: one instruction multiplies 16x16 weights with 8 rows of x. Weights are read from
//   memory once for 32 rows of x instead of 8. cp.async keeps two stages of 64 columns on their way during a third.
// Mapping: block (b, c) -> weight rows 128 b to 128 b + 127 against rows 32 c to 32 c + 31 of x; warp w has 16 of the
//   weight rows, and lane l of it rows l / 4 and l / 4 + 8, columns 2 (l % 4) and the next of each 8 rows of x.
//
// entry: skinny_gemm_tensor_cores
// block: 256
// grid: ceil(N/128) ceil(M/32)
// shared: 3*2*(128+32)*(64+8)

#include <cuda_fp16.h>

constexpr int WARPS = 8;
constexpr int THREADS = 32 * WARPS;
constexpr int TALL = 16 * WARPS;     // weight rows of a block
constexpr int ROWS = 32;             // of x, of a block
constexpr int COLUMNS = 64;          // of a stage
constexpr int PITCH = COLUMNS + 8;   // 16 bytes more: the 8 rows that ldmatrix reads at a time lie in different banks
constexpr int STAGES = 3;
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
    Stage& stage, const __half* x, const __half* weight, int column, int K, int M, int N)
{
    for (int i = threadIdx.x; i < (TALL + ROWS) * VECTORS; i += THREADS) {
        const int row = i / VECTORS, c = i % VECTORS * 8;
        const bool heavy = row < TALL;
        const int from = heavy ? min((int)blockIdx.x * TALL + row, N - 1)
                               : min((int)blockIdx.y * ROWS + row - TALL, M - 1);
        const __half* source = (heavy ? weight : x) + (size_t)from * K + column + c;
        __half* target = heavy ? &stage.weight[row][c] : &stage.x[row - TALL][c];
        if (column + c < K)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(target)), "l"(source) : "memory");
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) skinny_gemm_tensor_cores(
    const __half* __restrict__ x, const __half* __restrict__ weight, const __half* __restrict__ bias,
    __half* __restrict__ y, int M, int N, int steps)
{
    extern __shared__ __align__(16) unsigned char memory[];
    Stage* stages = reinterpret_cast<Stage*>(memory);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, K = 32 * steps;

#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
        fetch(stages[s], x, weight, s * COLUMNS, K, M, N);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    float sum[ROWS / 8][4] = {};
    int at = 0;
    for (int column = 0; column < K; column += COLUMNS) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();  // the stage is there for all, and all have left the one that is filled next
        fetch(stages[(at + STAGES - 1) % STAGES], x, weight, column + (STAGES - 1) * COLUMNS, K, M, N);
        asm volatile("cp.async.commit_group;" ::: "memory");
        const Stage& stage = stages[at];
        for (int k = 0; k < min(COLUMNS, K - column); k += 32) {
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

#pragma unroll
    for (int j = 0; j < ROWS / 8; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int n = blockIdx.x * TALL + warp * 16 + lane / 4 + i / 2 * 8;
            const int m = blockIdx.y * ROWS + j * 8 + lane % 4 * 2 + i % 2;
            if (n < N && m < M) y[(size_t)m * N + n] = __float2half(sum[j][i] + __half2float(bias[n]));
        }
    }
}
