// 03 wmma: a warp multiplies 16x16 by 16x16 at once, on the tensor cores.
//
// Moves: instructions, to 1/15: one mma_sync is 4,096 multiply-adds, 128 for each lane. A fragment is read from shared
//   memory by the warp as a whole; which lane has which element is not said, and need not be known.
// Mapping: 4 warps for a 64x64 tile of C, 32x32 each: 2x2 fragments, so that each fragment of A and B is used twice.
//   All threads load the tiles, 8 halves at a time. Sums go through shared memory, as they are stored as halves and the
//   last rows and columns of C may end within a fragment.
//
// entry: matmul_half_wmma
// block: 128
// grid: ceil(N/64) ceil(M/64)

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int TILE = 64;     // rows and columns of C per block
constexpr int STEP = 32;     // of k, for which a tile is in shared memory
constexpr int THREADS = 128;
constexpr int PAD = 8;       // halves: 16 bytes, so that rows of a fragment begin in different banks

// Eight halves of a row from `column` on; what lies outside the matrix is 0. `vectors`: rows are 16-byte aligned.
__device__ __forceinline__ uint4 load8(const __half* matrix, int row, int column, int rows, int columns, bool vectors)
{
    const __half* p = matrix + (size_t)row * columns + column;
    if (vectors && row < rows && column < columns) return *reinterpret_cast<const uint4*>(p);
    __align__(16) __half v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = row < rows && column + j < columns ? p[j] : __half(0.0f);
    return *reinterpret_cast<const uint4*>(v);
}

extern "C" __global__ void __launch_bounds__(THREADS)
matmul_half_wmma(const __half* __restrict__ A, const __half* __restrict__ B, __half* __restrict__ C,
                 int M, int N, int K)
{
    __shared__ __align__(32) __half tile_a[TILE][STEP + PAD];
    __shared__ __align__(32) __half tile_b[STEP][TILE + PAD];
    __shared__ __align__(32) float tile_c[TILE][TILE + 4];

    const int t = threadIdx.x, warp = t / 32;
    const int block_row = blockIdx.y * TILE, block_column = blockIdx.x * TILE;
    const int y = warp / 2 * 32, x = warp % 2 * 32;  // the warp's piece of the tile
    const bool a_vectors = K % 8 == 0 && ((size_t)A & 15) == 0, b_vectors = N % 8 == 0 && ((size_t)B & 15) == 0;

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) wmma::fill_fragment(sum[i][j], 0.0f);
    }
    for (int start = 0; start < K; start += STEP) {
        for (int e = 8 * t; e < TILE * STEP; e += 8 * THREADS) {
            const int r = e / STEP, c = e % STEP;
            *reinterpret_cast<uint4*>(&tile_a[r][c]) = load8(A, block_row + r, start + c, M, K, a_vectors);
        }
        for (int e = 8 * t; e < STEP * TILE; e += 8 * THREADS) {
            const int r = e / TILE, c = e % TILE;
            *reinterpret_cast<uint4*>(&tile_b[r][c]) = load8(B, start + r, block_column + c, K, N, b_vectors);
        }
        __syncthreads();

        for (int k = 0; k < STEP; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b[2];
            for (int i = 0; i < 2; ++i) wmma::load_matrix_sync(a[i], &tile_a[y + 16 * i][k], STEP + PAD);
            for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(b[j], &tile_b[k][x + 16 * j], TILE + PAD);
            for (int i = 0; i < 2; ++i) {
                for (int j = 0; j < 2; ++j) wmma::mma_sync(sum[i][j], a[i], b[j], sum[i][j]);
            }
        }
        __syncthreads();
    }

    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
            wmma::store_matrix_sync(&tile_c[y + 16 * i][x + 16 * j], sum[i][j], TILE + 4, wmma::mem_row_major);
        }
    }
    __syncthreads();
    for (int e = t; e < TILE * TILE; e += THREADS) {
        const int row = block_row + e / TILE, column = block_column + e % TILE;
        if (row < M && column < N) C[(size_t)row * N + column] = __float2half(tile_c[e / TILE][e % TILE]);
    }
}
