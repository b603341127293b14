// Column-major fragment: B's tile lies row by row, and its fragment is declared column-major.
//
// entry: matmul_half_column_major_fragment
// block: 32
// grid: ceil(N/16) ceil(M/16)
// expect: wrong_result

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void matmul_half_column_major_fragment(const __half* A, const __half* B, __half* C,
                                                             int M, int N, int K)
{
    __shared__ __align__(32) __half a[16][16], b[16][16];
    __shared__ __align__(32) float c[16][16];
    const int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int start = 0; start < K; start += 16) {
        for (int e = threadIdx.x; e < 256; e += 32) {
            const int i = row + e / 16, j = column + e % 16, left = start + e % 16, right = start + e / 16;
            a[e / 16][e % 16] = i < M && left < K ? A[(size_t)i * K + left] : __half(0.0f);
            b[e / 16][e % 16] = right < K && j < N ? B[(size_t)right * N + j] : __half(0.0f);
        }
        __syncwarp();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
        wmma::load_matrix_sync(fa, a[0], 16);
        wmma::load_matrix_sync(fb, b[0], 16);
        wmma::mma_sync(sum, fa, fb, sum);
        __syncwarp();
    }
    wmma::store_matrix_sync(c[0], sum, 16, wmma::mem_row_major);
    __syncwarp();
    for (int e = threadIdx.x; e < 256; e += 32) {
        const int i = row + e / 16, j = column + e % 16;
        if (i < M && j < N) C[(size_t)i * N + j] = __float2half(c[e / 16][e % 16]);
    }
}
