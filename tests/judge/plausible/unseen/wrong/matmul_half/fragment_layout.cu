// grid: ceil(N/16) ceil(M/16)
// block: 32
// fault: col_major fragment
// kinds: wrong_result
// B lies row by row in shared memory, the fragment is declared col_major: A times B transposed, tile by tile.
#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;
__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    __shared__ __align__(32) __half a[256], b[256];
    __shared__ __align__(32) float c[256];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    int i0 = blockIdx.y * 16, j0 = blockIdx.x * 16;
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int e = threadIdx.x; e < 256; e += 32) {
            int r = e / 16, q = e % 16;
            a[e] = i0 + r < M && k0 + q < K ? A[(size_t)(i0 + r) * K + k0 + q] : __float2half(0);
            b[e] = k0 + r < K && j0 + q < N ? B[(size_t)(k0 + r) * N + j0 + q] : __float2half(0);
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
