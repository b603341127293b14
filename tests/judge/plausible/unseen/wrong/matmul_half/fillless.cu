// grid: ceil(N/16) ceil(M/16)
// block: 32
// fault: uninitialised accumulators
// kinds: uninitialised_read wrong_result
// The accumulator fragment of WMMA is never filled with zeros.
#include <mma.h>
using namespace nvcuda;
__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    __shared__ __align__(32) __half a[256], b[256];
    __shared__ __align__(32) float c[256];
    int i = blockIdx.y * 16, j = blockIdx.x * 16, t = threadIdx.x;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    for (int k = 0; k < K; k += 16) {
        for (int e = t; e < 256; e += 32) {
            int r = e / 16, s = e % 16;
            a[e] = i + r < M && k + s < K ? A[(size_t)(i + r) * K + k + s] : __half(0.f);
            b[e] = k + r < K && j + s < N ? B[(size_t)(k + r) * N + j + s] : __half(0.f);
        }
        __syncwarp();
        wmma::load_matrix_sync(fa, a, 16); wmma::load_matrix_sync(fb, b, 16);
        wmma::mma_sync(fc, fa, fb, fc);
        __syncwarp();
    }
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
    __syncwarp();
    for (int e = t; e < 256; e += 32) if (i + e / 16 < M && j + e % 16 < N) C[(size_t)(i + e / 16) * N + j + e % 16] = __float2half(c[e]);
}
