// Sums in half. A and B are halves and C is to be halves, so a half for the sums looks like the type that fits. For
// short rows it does no harm; with 2,400 terms each step rounds a sum that has grown large.
//
// block: 128
// grid: ceil(N/32) ceil(M/32)
// expect: wrong_result

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int TILE = 32;  // rows and columns of C for a block: four warps, 16 by 16 each
constexpr int STEP = 16;  // of k, for which a tile of A and of B is in shared memory
constexpr int THREADS = 128;

extern "C" __global__ void product(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    __shared__ __align__(32) __half tile_a[TILE][STEP];
    __shared__ __align__(32) __half tile_b[STEP][TILE];
    __shared__ __align__(32) __half tile_c[TILE][TILE];

    const int t = threadIdx.x, warp = t / 32;
    const int top = blockIdx.y * TILE, left = blockIdx.x * TILE;  // of the block's piece of C
    const int y = warp / 2 * 16, x = warp % 2 * 16;               // of the warp's piece in that

    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, __half> sum;
    wmma::fill_fragment(sum, __half(0.0f));
    for (int start = 0; start < K; start += STEP) {
        for (int e = t; e < TILE * STEP; e += THREADS) {
            const int row = top + e / STEP, k_a = start + e % STEP;
            const int k_b = start + e / TILE, column = left + e % TILE;
            tile_a[e / STEP][e % STEP] = row < M && k_a < K ? A[(size_t)row * K + k_a] : __half(0.0f);
            tile_b[e / TILE][e % TILE] = k_b < K && column < N ? B[(size_t)k_b * N + column] : __half(0.0f);
        }
        __syncthreads();

        wmma::load_matrix_sync(a, &tile_a[y][0], STEP);
        wmma::load_matrix_sync(b, &tile_b[0][x], TILE);
        wmma::mma_sync(sum, a, b, sum);
        __syncthreads();
    }

    wmma::store_matrix_sync(&tile_c[y][x], sum, TILE, wmma::mem_row_major);
    __syncthreads();
    for (int e = t; e < TILE * TILE; e += THREADS) {
        const int row = top + e / TILE, column = left + e % TILE;
        if (row < M && column < N) C[(size_t)row * N + column] = tile_c[e / TILE][e % TILE];
    }
}
