// 04 mma pipeline: fragments by hand, four stages of tiles on their way by cp.async, a swizzle in place of padding.
//
// Moves: waiting, and shared reads. Three stages are on their way while one is multiplied, and no registers hold them
//   meanwhile. For 32 mma a warp reads 8 times 4 matrices of 8x8 by ldmatrix. No bank conflicts, without a byte of
//   padding; and sums go from registers to C.
// Mapping: 8 warps, 2 down and 4 across a 128x256 tile of C. Of each 16x8 piece lane l has rows l / 4 and l / 4 + 8,
//   columns 2 (l % 4) and the next. 16 bytes of a row are a chunk; chunk c of row r lies at place c ^ (r / 2 % 4) in
//   A's rows of 64 bytes, at c ^ (r % 8) in B's of 512: the 8 rows that are read at a time lie in different banks.
//
// entry: matmul_half_mma_pipeline
// block: 256
// grid: ceil(N/256) ceil(M/128)
// shared: 4*2*(128*32+32*256)
// needs: 8.0

#include <cuda_fp16.h>

constexpr int BM = 128, BN = 256;  // rows and columns of C per block
constexpr int BK = 32;             // steps of k per stage
constexpr int STAGES = 4;
constexpr int THREADS = 256;
constexpr int WARP = 64;           // rows and columns of C per warp
constexpr int A_CHUNKS = BK / 8, B_CHUNKS = BN / 8;  // of 16 bytes, in a row

struct Stage {
    __half a[BM * BK];
    __half b[BK * BN];
};

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

// Where chunk c of row r lies in a stage, in halves.
__device__ __forceinline__ int in_a(int r, int c) { return (r * A_CHUNKS + (c ^ (r / 2 % 4))) * 8; }
__device__ __forceinline__ int in_b(int r, int c) { return (r * B_CHUNKS + (c ^ (r % 8))) * 8; }

// Ask for a chunk; what lies outside the matrix is 0. `vectors`: rows are 16-byte aligned.
__device__ __forceinline__ void fetch8(__half* to, const __half* matrix, int row, int column, int rows, int columns,
                                       bool vectors)
{
    const __half* p = matrix + (size_t)row * columns + column;
    if (vectors && row < rows && column < columns) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(to)), "l"(p) : "memory");
        return;
    }
#pragma unroll 1
    for (int j = 0; j < 8; ++j) to[j] = row < rows && column + j < columns ? p[j] : __half(0.0f);
}

__device__ __forceinline__ void ldmatrix(unsigned int (&r)[4], const __half* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
}

__device__ __forceinline__ void ldmatrix_turned(unsigned int (&r)[4], const __half* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
}

__device__ __forceinline__ void mma(float (&c)[4], const unsigned int (&a)[4], unsigned int b0, unsigned int b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
matmul_half_mma_pipeline(const __half* __restrict__ A, const __half* __restrict__ B, __half* __restrict__ C,
                         int M, int N, int K)
{
    extern __shared__ __align__(128) unsigned char memory[];
    Stage* stages = reinterpret_cast<Stage*>(memory);
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const int block_row = blockIdx.y * BM, block_column = blockIdx.x * BN;
    const int y = warp / 4 * WARP, x = warp % 4 * WARP;  // the warp's piece of the tile
    const bool a_vectors = K % 8 == 0 && ((size_t)A & 15) == 0, b_vectors = N % 8 == 0 && ((size_t)B & 15) == 0;

    const auto fetch = [&](int step) {
        Stage& stage = stages[step % STAGES];
        const int start = step * BK;
        if (start < K) {
#pragma unroll
            for (int i = 0; i < BM * A_CHUNKS / THREADS; ++i) {
                const int e = t + i * THREADS, r = e / A_CHUNKS, c = e % A_CHUNKS;
                fetch8(&stage.a[in_a(r, c)], A, block_row + r, start + c * 8, M, K, a_vectors);
            }
#pragma unroll
            for (int i = 0; i < BK * B_CHUNKS / THREADS; ++i) {
                const int e = t + i * THREADS, r = e / B_CHUNKS, c = e % B_CHUNKS;
                fetch8(&stage.b[in_b(r, c)], B, start + r, block_column + c * 8, K, N, b_vectors);
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };

    float sum[WARP / 16][WARP / 8][4] = {};
#pragma unroll 1
    for (int step = 1 - STAGES; step * BK < K; ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();  // the stage is there for all, and all have left the one that is filled next
        fetch(step + STAGES - 1);
        if (step < 0) continue;  // the first stages are on their way only
        const Stage& stage = stages[step % STAGES];
#pragma unroll
        for (int k = 0; k < BK; k += 16) {
            unsigned int a[WARP / 16][4], b[WARP / 16][4];
#pragma unroll
            for (int i = 0; i < WARP / 16; ++i)
                ldmatrix(a[i], &stage.a[in_a(y + 16 * i + lane % 16, k / 8 + lane / 16)]);
#pragma unroll
            for (int j = 0; j < WARP / 16; ++j)
                ldmatrix_turned(b[j], &stage.b[in_b(k + lane % 16, x / 8 + 2 * j + lane / 16)]);
#pragma unroll
            for (int i = 0; i < WARP / 16; ++i) {
#pragma unroll
                for (int j = 0; j < WARP / 8; ++j) mma(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
            }
        }
    }

    const bool pairs = N % 2 == 0 && ((size_t)C & 3) == 0;
#pragma unroll
    for (int i = 0; i < WARP / 16; ++i) {
#pragma unroll
        for (int e = 0; e < 4; e += 2) {
            const int row = block_row + y + 16 * i + lane / 4 + 4 * e;
            if (row >= M) continue;
#pragma unroll
            for (int j = 0; j < WARP / 8; ++j) {
                const int column = block_column + x + 8 * j + 2 * (lane % 4);
                __half* p = C + (size_t)row * N + column;
                if (pairs) {
                    if (column < N) *reinterpret_cast<__half2*>(p) = __floats2half2_rn(sum[i][j][e], sum[i][j][e + 1]);
                } else {
                    if (column < N) p[0] = __float2half(sum[i][j][e]);
                    if (column + 1 < N) p[1] = __float2half(sum[i][j][e + 1]);
                }
            }
        }
    }
}
