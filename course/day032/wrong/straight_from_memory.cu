// Straight from memory. load_matrix_sync takes any pointer and the length of a row, and a tile in shared memory looks
// like a detour. It wants rows whose length is a multiple of eight halves and all sixteen of them; matrices have
// neither.
//
// block: 128
// grid: ceil(N/32) ceil(M/32)
// expect: misaligned

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int TILE = 32;  // rows and columns of C for a block: four warps, 16 by 16 each
constexpr int STEP = 16;  // of k, for which a tile of A and of B is in shared memory
constexpr int THREADS = 128;

extern "C" __global__ void product(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    __shared__ __align__(32) float tile_c[TILE][TILE];

    const int t = threadIdx.x, warp = t / 32;
    const int top = blockIdx.y * TILE, left = blockIdx.x * TILE;  // of the block's piece of C
    const int y = warp / 2 * 16, x = warp % 2 * 16;               // of the warp's piece in that

    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int start = 0; start < K; start += STEP) {
        wmma::load_matrix_sync(a, A + (size_t)(top + y) * K + start, K);  // <- here
        wmma::load_matrix_sync(b, B + (size_t)start * N + left + x, N);  // <- here
        wmma::mma_sync(sum, a, b, sum);
    }

    wmma::store_matrix_sync(&tile_c[y][x], sum, TILE, wmma::mem_row_major);
    __syncthreads();
    for (int e = t; e < TILE * TILE; e += THREADS) {
        const int row = top + e / TILE, column = left + e % TILE;
        if (row < M && column < N) C[(size_t)row * N + column] = __float2half(tile_c[e / TILE][e % TILE]);
    }
}
