// grid: ceil(M/16) ceil(N/16)
// block: 32
// C turned is B turned times A turned: WMMA with both factors as column-major fragments, and the result stored so.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    __shared__ __align__(32) __half a[256], b[256];
    __shared__ __align__(32) float c[256];
    const int i0 = blockIdx.x * 16, j0 = blockIdx.y * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int e = threadIdx.x; e < 256; e += 32) {
            const int slow = e / 16, fast = e % 16;
            a[e] = i0 + slow < M && k0 + fast < K ? A[(size_t)(i0 + slow) * K + k0 + fast] : __half(0.0f);
            b[e] = k0 + slow < K && j0 + fast < N ? B[(size_t)(k0 + slow) * N + j0 + fast] : __half(0.0f);
        }
        __syncwarp();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::col_major> fb;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fa;
        wmma::load_matrix_sync(fb, b, 16);
        wmma::load_matrix_sync(fa, a, 16);
        wmma::mma_sync(fc, fb, fa, fc);
        __syncwarp();
    }
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_col_major);
    __syncwarp();
    for (int e = threadIdx.x; e < 256; e += 32)
        if (i0 + e / 16 < M && j0 + e % 16 < N) C[(size_t)(i0 + e / 16) * N + j0 + e % 16] = __float2half(c[e]);
}
