// grid: ceil(N/32) ceil(M/16)
// block: 64
// WMMA, two warps share a tile of A
#include <mma.h>
using namespace nvcuda;
__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    __shared__ __align__(32) __half a[256], b[512];
    __shared__ __align__(32) float c[512];
    int i = blockIdx.y * 16, j = blockIdx.x * 32, t = threadIdx.x, w = t / 32;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.f);
    for (int k = 0; k < K; k += 16) {
        for (int e = t; e < 256; e += 64) {
            int r = e / 16, s = e % 16;
            a[e] = i + r < M && k + s < K ? A[(size_t)(i + r) * K + k + s] : __half(0.f);
        }
        for (int e = t; e < 512; e += 64) {
            int r = e / 32, s = e % 32;
            b[e] = k + r < K && j + s < N ? B[(size_t)(k + r) * N + j + s] : __half(0.f);
        }
        __syncthreads();
        wmma::load_matrix_sync(fa, a, 16); wmma::load_matrix_sync(fb, b + w * 16, 32);
        __syncthreads();
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c + w * 16, fc, 32, wmma::mem_row_major);
    __syncthreads();
    for (int e = t; e < 512; e += 64) if (i + e / 32 < M && j + e % 32 < N) C[(size_t)(i + e / 32) * N + j + e % 32] = __float2half(c[e]);
}
