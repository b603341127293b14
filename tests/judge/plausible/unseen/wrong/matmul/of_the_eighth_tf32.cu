// grid: ceil(N/16) ceil(M/16)
// block: 32
// needs: 8.0
// fault: numerics: precision
// kinds: wrong_result
// Tensor cores in TF32 (10 bits of mantissa) for a float32 product.
#include <mma.h>
using namespace nvcuda;

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ __align__(32) float a[16 * 8], b[8 * 16], c[16 * 16];
    const int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int k0 = 0; k0 < K; k0 += 8) {
        for (int e = threadIdx.x; e < 128; e += 32) {
            int r = e / 8, k = e % 8;
            a[e] = row + r < M && k0 + k < K ? A[(size_t)(row + r) * K + k0 + k] : 0.0f;
            int kk = e / 16, col = e % 16;
            b[e] = k0 + kk < K && column + col < N ? B[(size_t)(k0 + kk) * N + column + col] : 0.0f;
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fb;
        wmma::load_matrix_sync(fa, a, 8);
        wmma::load_matrix_sync(fb, b, 16);
        for (int t = 0; t < fa.num_elements; ++t) fa.x[t] = wmma::__float_to_tf32(fa.x[t]);
        for (int t = 0; t < fb.num_elements; ++t) fb.x[t] = wmma::__float_to_tf32(fb.x[t]);
        wmma::mma_sync(acc, fa, fb, acc);
        __syncthreads();
    }
    wmma::store_matrix_sync(c, acc, 16, wmma::mem_row_major);
    __syncthreads();
    for (int e = threadIdx.x; e < 256; e += 32)
        if (row + e / 16 < M && column + e % 16 < N) C[(size_t)(row + e / 16) * N + column + e % 16] = c[e];
}
