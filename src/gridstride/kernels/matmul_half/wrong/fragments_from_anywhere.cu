// Fragments from anywhere: they are loaded straight from the matrices, whose rows may be of any length.
//
// entry: matmul_half_fragments_from_anywhere
// block: 32
// grid: ceil(N/16) ceil(M/16)
// expect: misaligned

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void matmul_half_fragments_from_anywhere(const __half* A, const __half* B, __half* C,
                                                               int M, int N, int K)
{
    __shared__ __align__(32) float c[16][16];
    const int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int start = 0; start < K; start += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
        wmma::load_matrix_sync(fa, A + (size_t)row * K + start, K);  // <- here
        wmma::load_matrix_sync(fb, B + (size_t)start * N + column, N);  // <- here
        wmma::mma_sync(sum, fa, fb, sum);
    }
    wmma::store_matrix_sync(c[0], sum, 16, wmma::mem_row_major);
    __syncwarp();
    for (int e = threadIdx.x; e < 256; e += 32) {
        const int i = row + e / 16, j = column + e % 16;
        if (i < M && j < N) C[(size_t)i * N + j] = __float2half(c[e / 16][e % 16]);
    }
}
