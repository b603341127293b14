// grid: ceil(N/16) ceil(M/16)
// block: 32
// wmma over tiles that were staged in shared memory, with zeros outside.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
__global__ void linear_wmma(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    __shared__ __align__(32) __half a[16 * 16], b[16 * 16];
    __shared__ __align__(32) float c[256];
    const int m0 = blockIdx.y * 16, n0 = blockIdx.x * 16, K = 32 * steps;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int i = threadIdx.x; i < 256; i += 32) {
            const int r = i / 16, k = k0 + i % 16;
            a[i] = m0 + r < M ? x[(size_t)(m0 + r) * K + k] : __half(0.0f);
            b[i] = n0 + r < N ? weight[(size_t)(n0 + r) * K + k] : __half(0.0f);
        }
        __syncwarp();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
        wmma::load_matrix_sync(fa, a, 16);
        wmma::load_matrix_sync(fb, b, 16);
        wmma::mma_sync(acc, fa, fb, acc);
        __syncwarp();
    }
    wmma::store_matrix_sync(c, acc, 16, wmma::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32) {
        const int m = m0 + i / 16, n = n0 + i % 16;
        if (m < M && n < N) y[(size_t)m * N + n] = __float2half(c[i] + __half2float(bias[n]));
    }
}
