// Day 32's product with larger tiles. WMMA fills the fragments and spreads the sums over the lanes by itself, and with 32
// steps of k for a pair of barriers there are fewer of them than the lab allows. No lane knows what it has. So the sums
// go through shared memory to be converted and guarded.
//
// block: 256
// grid: ceil(N/64) ceil(M/32)
// expect: too_few stored

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int TILE = 32;  // rows and columns of C for a block: four warps, 16 by 16 each
constexpr int STEP = 32;  // of k, for which a tile of A and of B is in shared memory
constexpr int WIDE = 64;
constexpr int THREADS = 256;

extern "C" __global__ void product(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    __shared__ __align__(32) __half tile_a[TILE][STEP];
    __shared__ __align__(32) __half tile_b[STEP][WIDE];
    __shared__ __align__(32) float tile_c[TILE][WIDE];

    const int t = threadIdx.x, warp = t / 32;
    const int top = blockIdx.y * TILE, left = blockIdx.x * WIDE;  // of the block's piece of C
    const int y = warp / 4 * 16, x = warp % 4 * 16;               // of the warp's piece in that

    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int start = 0; start < K; start += STEP) {
        for (int e = t; e < TILE * STEP; e += THREADS) {
            const int row = top + e / STEP, k_a = start + e % STEP;
            tile_a[e / STEP][e % STEP] = row < M && k_a < K ? A[(size_t)row * K + k_a] : __half(0.0f);
        }
        for (int e = t; e < WIDE * STEP; e += THREADS) {
            const int k_b = start + e / WIDE, column = left + e % WIDE;
            tile_b[e / WIDE][e % WIDE] = k_b < K && column < N ? B[(size_t)k_b * N + column] : __half(0.0f);
        }
        __syncthreads();

        for (int k = 0; k < STEP; k += 16) {
            wmma::load_matrix_sync(a, &tile_a[y][k], STEP);
            wmma::load_matrix_sync(b, &tile_b[k][x], WIDE);
            wmma::mma_sync(sum, a, b, sum);
        }
        __syncthreads();
    }

    wmma::store_matrix_sync(&tile_c[y][x], sum, WIDE, wmma::mem_row_major);
    __syncthreads();
    for (int e = t; e < TILE * WIDE; e += THREADS) {
        const int row = top + e / WIDE, column = left + e % WIDE;
        if (row < M && column < N) C[(size_t)row * N + column] = __float2half(tile_c[e / WIDE][e % WIDE]);
    }
}
