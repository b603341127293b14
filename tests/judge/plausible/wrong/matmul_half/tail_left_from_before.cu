// fault: of the last steps of k only those that exist are put into the tiles; the others still hold the steps before
// kinds: wrong_result uninitialised_read
// grid: ceil(N/16) ceil(M/16)
// block: 32
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    __shared__ __align__(32) __half a[256], b[256];
    __shared__ __align__(32) float c[256];
    const int i0 = blockIdx.y * 16, j0 = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int e = threadIdx.x; e < 256; e += 32) {
            const int i = i0 + e / 16, j = j0 + e % 16, ka = k0 + e % 16, kb = k0 + e / 16;
            if (ka < K) a[e] = i < M ? A[(size_t)i * K + ka] : __half(0.0f);
            if (kb < K) b[e] = j < N ? B[(size_t)kb * N + j] : __half(0.0f);
        }
        __syncwarp();
        wmma::load_matrix_sync(fa, a, 16);
        wmma::load_matrix_sync(fb, b, 16);
        wmma::mma_sync(fc, fa, fb, fc);
        __syncwarp();
    }
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
    __syncwarp();
    for (int e = threadIdx.x; e < 256; e += 32)
        if (i0 + e / 16 < M && j0 + e % 16 < N) C[(size_t)(i0 + e / 16) * N + j0 + e % 16] = __float2half(c[e]);
}
