// grid: ceil(N/16) ceil(M/16)
// block: 32
// Wmma with float sums, a warp per 16 x 16 of y; ragged tiles are filled with zeros in shared memory.

#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    __shared__ __align__(32) __half a[16 * 16], b[16 * 16];
    __shared__ __align__(32) float c[16 * 16];
    const int lane = threadIdx.x, m0 = blockIdx.y * 16, n0 = blockIdx.x * 16, depth = 32 * steps, r = lane / 2, h = lane % 2 * 8;
    const uint4 nothing = make_uint4(0, 0, 0, 0);
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < depth; k += 16) {
        *reinterpret_cast<uint4*>(a + r * 16 + h) = m0 + r < M ? *reinterpret_cast<const uint4*>(x + (size_t)(m0 + r) * depth + k + h) : nothing;
        *reinterpret_cast<uint4*>(b + r * 16 + h) = n0 + r < N ? *reinterpret_cast<const uint4*>(weight + (size_t)(n0 + r) * depth + k + h) : nothing;
        __syncwarp();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
        wmma::load_matrix_sync(fa, a, 16);
        wmma::load_matrix_sync(fb, b, 16);
        wmma::mma_sync(sum, fa, fb, sum);
        __syncwarp();
    }
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
    __syncwarp();
    for (int e = lane; e < 256; e += 32) {
        const int m = m0 + e / 16, n = n0 + e % 16;
        if (m < M && n < N) y[(size_t)m * N + n] = __float2half(c[e] + __half2float(bias[n]));
    }
}
