// Missing barrier: two warps share a tile of A, and one loads the next over it while the other still reads this one.
//
// entry: matmul_half_missing_barrier
// block: 64
// grid: ceil(N/32) ceil(M/16)
// expect: race

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void matmul_half_missing_barrier(const __half* A, const __half* B, __half* C,
                                                       int M, int N, int K)
{
    __shared__ __align__(32) __half a[16][16], b[16][32];
    __shared__ __align__(32) float c[16][32];
    const int row = blockIdx.y * 16, column = blockIdx.x * 32, t = threadIdx.x, x = t / 32 * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int start = 0; start < K; start += 16) {
        for (int e = t; e < 256; e += 64) {
            const int i = row + e / 16, k = start + e % 16;
            a[e / 16][e % 16] = i < M && k < K ? A[(size_t)i * K + k] : __half(0.0f);  // <- here
        }
        for (int e = t; e < 512; e += 64) {
            const int k = start + e / 32, j = column + e % 32;
            b[e / 32][e % 32] = k < K && j < N ? B[(size_t)k * N + j] : __half(0.0f);  // <- here
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
        wmma::load_matrix_sync(fa, a[0], 16);      // <- here
        wmma::load_matrix_sync(fb, &b[0][x], 32);  // <- here
        wmma::mma_sync(sum, fa, fb, sum);
    }
    wmma::store_matrix_sync(&c[0][x], sum, 32, wmma::mem_row_major);
    __syncthreads();
    for (int e = t; e < 512; e += 64) {
        const int i = row + e / 32, j = column + e % 32;
        if (i < M && j < N) C[(size_t)i * N + j] = __float2half(c[e / 32][e % 32]);
    }
}
