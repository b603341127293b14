// grid: ceil(N/16) ceil(M/16)
// block: 32
// fault: tail of 16
// kinds: out_of_bounds
// Tensor-core tiles are loaded straight from global memory: M or N that is no multiple of 16 reads behind x or weight.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
__global__ void linear_wmma(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    __shared__ float c[16][16];
    int m0 = blockIdx.y * 16, n0 = blockIdx.x * 16, K = 32 * steps;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int k = 0; k < K; k += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
        wmma::load_matrix_sync(a, x + (size_t)m0 * K + k, K);
        wmma::load_matrix_sync(b, weight + (size_t)n0 * K + k, K);
        wmma::mma_sync(acc, a, b, acc);
    }
    wmma::store_matrix_sync(&c[0][0], acc, 16, wmma::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32)
        if (m0 + i / 16 < M && n0 + i % 16 < N)
            y[(size_t)(m0 + i / 16) * N + n0 + i % 16] = __float2half(c[i / 16][i % 16] + __half2float(bias[n0 + i % 16]));
}
