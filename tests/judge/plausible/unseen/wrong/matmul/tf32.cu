// grid: ceil(N/16) ceil(M/16)
// block: 32
// fault: wrong formula
// kinds: wrong_result
// The tensor cores' tf32 keeps 10 bits of a factor: errors of 1e-3 where the statement allows the rounding of K terms in float32 (normal data, every K).

#include <mma.h>
using namespace nvcuda;

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[16 * 8], b[8 * 16], c[16 * 16];
    const int lane = threadIdx.x, row0 = blockIdx.y * 16, column0 = blockIdx.x * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k0 = 0; k0 < K; k0 += 8) {
        for (int e = lane; e < 128; e += 32) {
            const int ar = row0 + e / 8, ak = k0 + e % 8, bk = k0 + e / 16, bc = column0 + e % 16;
            a[e] = wmma::__float_to_tf32(ar < M && ak < K ? A[ar * K + ak] : 0.0f);
            b[e] = wmma::__float_to_tf32(bk < K && bc < N ? B[bk * N + bc] : 0.0f);
        }
        __syncwarp();
        wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fb;
        wmma::load_matrix_sync(fa, a, 8);
        wmma::load_matrix_sync(fb, b, 16);
        wmma::mma_sync(sum, fa, fb, sum);
        __syncwarp();
    }
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
    __syncwarp();
    for (int e = lane; e < 256; e += 32)
        if (row0 + e / 16 < M && column0 + e % 16 < N) C[(row0 + e / 16) * N + column0 + e % 16] = c[e];
}
