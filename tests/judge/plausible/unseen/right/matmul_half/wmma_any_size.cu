// nvcuda::wmma over padded tiles in shared memory, edges filled with zeros, results through shared floats.
// grid: ceil(N/32) ceil(M/32)
// block: 128
#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;
__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    __shared__ __align__(32) __half a[32][24], b[16][40];
    __shared__ __align__(32) float c[32][36];
    const int t = threadIdx.x, w = t / 32, wr = w / 2 * 16, wc = w % 2 * 16, row = blockIdx.y * 32, col = blockIdx.x * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int k = 0; k < K; k += 16) {
        for (int e = t; e < 512; e += 128) {
            a[e / 16][e % 16] = row + e / 16 < M && k + e % 16 < K ? A[(size_t)(row + e / 16) * K + k + e % 16] : __float2half(0.0f);
            b[e / 32][e % 32] = k + e / 32 < K && col + e % 32 < N ? B[(size_t)(k + e / 32) * N + col + e % 32] : __float2half(0.0f);
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
        wmma::load_matrix_sync(fa, &a[wr][0], 24);
        wmma::load_matrix_sync(fb, &b[0][wc], 40);
        wmma::mma_sync(acc, fa, fb, acc);
        __syncthreads();
    }
    wmma::store_matrix_sync(&c[wr][wc], acc, 36, wmma::mem_row_major);
    __syncthreads();
    for (int e = t; e < 1024; e += 128)
        if (row + e / 32 < M && col + e % 32 < N) C[(size_t)(row + e / 32) * N + col + e % 32] = __float2half(c[e / 32][e % 32]);
}
