// grid: ceil(N/16) ceil(M/16)
// block: 32
// needs: 7.0
// fault: numerics: half accumulation
// kinds: wrong_result
// Wmma with an accumulator of half.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    __shared__ __align__(32) __half a[256], b[256], c[256];
    const int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, __half> acc;
    wmma::fill_fragment(acc, __float2half(0.0f));
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int e = threadIdx.x; e < 256; e += 32) {
            int r = e / 16, k = e % 16;
            a[e] = row + r < M && k0 + k < K ? A[(size_t)(row + r) * K + k0 + k] : __float2half(0.0f);
            b[e] = k0 + r < K && column + k < N ? B[(size_t)(k0 + r) * N + column + k] : __float2half(0.0f);
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
        wmma::load_matrix_sync(fa, a, 16);
        wmma::load_matrix_sync(fb, b, 16);
        wmma::mma_sync(acc, fa, fb, acc);
        __syncthreads();
    }
    wmma::store_matrix_sync(c, acc, 16, wmma::mem_row_major);
    __syncthreads();
    for (int e = threadIdx.x; e < 256; e += 32)
        if (row + e / 16 < M && column + e % 16 < N) C[(size_t)(row + e / 16) * N + column + e % 16] = c[e];
}
