// 03 mma pipeline: tensor cores, by mma.sync and ldmatrix; four stages of tiles on their way by cp.async, swizzled.
//
// Moves: instructions, and shared reads: a warp's mma multiplies 16x8x32, and no value is converted by a thread. Both
//   matrices have K contiguous, as mma wants its columns of B: ldmatrix brings both without turning them.
// Mapping: 8 warps, 2 down and 4 across a 128x128 tile of C. Hopper makes halves of 8-bit values before it multiplies
//   them, in registers, of which a warp with 64x64 of C has too few for that. Of each 16x8 piece lane l has rows l / 4
//   and l / 4 + 8, columns 2 (l % 4) and the next. 16 bytes of a row are a chunk; chunk c of row r lies at place
//   c ^ (r / 2 % 4) in rows of 64 bytes: the 8 rows that ldmatrix reads at a time lie in different banks.
//
// entry: matmul_fp8_mma_pipeline
// block: 256
// grid: ceil(N/128) ceil(M/128)
// shared: 4*64*(128+128)
// needs: 8.9

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#ifndef BFLOAT16
typedef __half Out;
typedef __half2 Pair;
__device__ __forceinline__ Pair pair(float left, float right) { return __floats2half2_rn(left, right); }
#else
typedef __nv_bfloat16 Out;
typedef __nv_bfloat162 Pair;
__device__ __forceinline__ Pair pair(float left, float right) { return __floats2bfloat162_rn(left, right); }
#endif

constexpr int BM = 128, BN = 128;  // rows and columns of C per block
constexpr int BK = 64;             // steps of k per stage, one byte each
constexpr int STAGES = 4;
constexpr int THREADS = 256;
constexpr int WM = 64, WN = 32;    // rows and columns of C per warp
constexpr int CHUNKS = BK / 16;    // of 16 bytes, in a row

typedef unsigned char Code;  // of e4m3

struct Stage {
    Code a[BM * BK];
    Code b[BN * BK];
};

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

// Where chunk c of row r lies in a tile, in bytes.
__device__ __forceinline__ int place(int r, int c) { return (r * CHUNKS + (c ^ (r / 2 % 4))) * 16; }

struct Matrix {
    const Code* codes;
    int rows, columns;
    bool vectors;  // rows are 16-byte aligned
};

__device__ __forceinline__ Matrix matrix(const __nv_fp8_e4m3* codes, int rows, int columns)
{
    return {reinterpret_cast<const Code*>(codes), rows, columns, columns % 16 == 0 && ((size_t)codes & 15) == 0};
}

// Ask for `rows` rows of BK steps of k; what lies outside the matrix is 0.
template <int ROWS>
__device__ __forceinline__ void fetch(Code* tile, const Matrix& m, int row, int start)
{
#pragma unroll
    for (int i = 0; i < ROWS * CHUNKS / THREADS; ++i) {
        const int e = threadIdx.x + i * THREADS, r = e / CHUNKS, c = e % CHUNKS, k = start + c * 16;
        Code* to = tile + place(r, c);
        const Code* p = m.codes + (size_t)(row + r) * m.columns + k;
        if (m.vectors) {
            const int bytes = row + r < m.rows && k < m.columns ? 16 : 0;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                         ::"r"(address(to)), "l"(bytes ? p : m.codes), "r"(bytes) : "memory");
            continue;
        }
#pragma unroll 1
        for (int j = 0; j < 16; ++j) to[j] = row + r < m.rows && k + j < m.columns ? p[j] : 0;
    }
}

__device__ __forceinline__ void ldmatrix(unsigned int (&r)[4], const Code* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
}

__device__ __forceinline__ void mma(float (&c)[4], const unsigned int (&a)[4], unsigned int b0, unsigned int b1)
{
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
matmul_fp8_mma_pipeline(const __nv_fp8_e4m3* __restrict__ A, const __nv_fp8_e4m3* __restrict__ B,
                        const float* __restrict__ scale_a, const float* __restrict__ scale_b, Out* __restrict__ C,
                        int M, int N, int K)
{
    extern __shared__ __align__(128) unsigned char memory[];
    Stage* stages = reinterpret_cast<Stage*>(memory);
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const int block_row = blockIdx.y * BM, block_column = blockIdx.x * BN;
    const int y = warp / 4 * WM, x = warp % 4 * WN;  // the warp's piece of the tile
    const Matrix a = matrix(A, M, K), b = matrix(B, N, K);

    float sum[WM / 16][WN / 8][4] = {};
#pragma unroll 1
    for (int step = 1 - STAGES; step * BK < K; ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();  // the stage is there for all, and all have left the one that is filled next
        const int next = step + STAGES - 1;
        if (next * BK < K) {
            fetch<BM>(stages[next % STAGES].a, a, block_row, next * BK);
            fetch<BN>(stages[next % STAGES].b, b, block_column, next * BK);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        if (step < 0) continue;  // the first stages are on their way only
        const Stage& stage = stages[step % STAGES];
#pragma unroll
        for (int k = 0; k < BK; k += 32) {
            unsigned int left[WM / 16][4], right[WN / 16][4];
#pragma unroll
            for (int i = 0; i < WM / 16; ++i)
                ldmatrix(left[i], &stage.a[place(y + 16 * i + lane % 16, k / 16 + lane / 16)]);
#pragma unroll
            for (int j = 0; j < WN / 16; ++j)
                ldmatrix(right[j], &stage.b[place(x + 16 * j + lane / 16 * 8 + lane % 8, k / 16 + lane / 8 % 2)]);
#pragma unroll
            for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
                for (int j = 0; j < WN / 8; ++j)
                    mma(sum[i][j], left[i], right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]);
            }
        }
    }

    const bool pairs = N % 2 == 0 && ((size_t)C & 3) == 0;
#pragma unroll
    for (int j = 0; j < WN / 8; ++j) {
        const int column = block_column + x + 8 * j + 2 * (lane % 4);
        if (column >= N) continue;
        const float scale_left = scale_b[column], scale_right = scale_b[min(column + 1, N - 1)];
#pragma unroll
        for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
            for (int e = 0; e < 4; e += 2) {
                const int row = block_row + y + 16 * i + lane / 4 + 4 * e;
                if (row >= M) continue;
                const float scale = scale_a[row];
                const Pair both = pair(scale * scale_left * sum[i][j][e], scale * scale_right * sum[i][j][e + 1]);
                Out* p = C + (size_t)row * N + column;
                if (pairs) *reinterpret_cast<Pair*>(p) = both;
                if (!pairs) p[0] = both.x;
                if (!pairs && column + 1 < N) p[1] = both.y;
            }
        }
    }
}
