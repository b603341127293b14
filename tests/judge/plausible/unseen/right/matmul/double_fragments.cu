// grid: ceil(N/8) ceil(M/8)
// block: 32
// The tensor cores' double precision, into which floats go exactly; a warp per 8 x 8 of C.

#include <mma.h>
using namespace nvcuda;

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ double a[8 * 4], b[4 * 8], c[8 * 8];
    const int lane = threadIdx.x, row0 = blockIdx.y * 8, column0 = blockIdx.x * 8;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> sum;
    wmma::fill_fragment(sum, 0.0);
    for (int k0 = 0; k0 < K; k0 += 4) {
        const int ar = row0 + lane / 4, ak = k0 + lane % 4, bk = k0 + lane / 8, bc = column0 + lane % 8;
        a[lane] = ar < M && ak < K ? A[(size_t)ar * K + ak] : 0.0f;
        b[lane] = bk < K && bc < N ? B[(size_t)bk * N + bc] : 0.0f;
        __syncwarp();
        wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> fb;
        wmma::load_matrix_sync(fa, a, 4);
        wmma::load_matrix_sync(fb, b, 8);
        wmma::mma_sync(sum, fa, fb, sum);
        __syncwarp();
    }
    wmma::store_matrix_sync(c, sum, 8, wmma::mem_row_major);
    __syncwarp();
    for (int e = lane; e < 64; e += 32)
        if (row0 + e / 8 < M && column0 + e % 8 < N) C[(size_t)(row0 + e / 8) * N + column0 + e % 8] = (float)c[e];
}
