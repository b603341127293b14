// grid: ceil(N/16) ceil(M/16)
// block: 32
// fault: precision
// kinds: wrong_result
// One pass of tf32 tensor cores: ten bits of mantissa for float32 inputs. Right for small whole numbers only.
#include <mma.h>
using namespace nvcuda;
__global__ void mm_tf32(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[16 * 8], b[8 * 16], c[256];
    int r0 = blockIdx.y * 16, c0 = blockIdx.x * 16, t = threadIdx.x;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int k0 = 0; k0 < K; k0 += 8) {
        for (int i = t; i < 128; i += 32) {
            int r = r0 + i / 8, k = k0 + i % 8;
            a[i] = r < M && k < K ? wmma::__float_to_tf32(A[(size_t)r * K + k]) : 0;
            k = k0 + i / 16;
            int n = c0 + i % 16;
            b[i] = k < K && n < N ? wmma::__float_to_tf32(B[(size_t)k * N + n]) : 0;
        }
        __syncwarp();
        wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fb;
        wmma::load_matrix_sync(fa, a, 8);
        wmma::load_matrix_sync(fb, b, 16);
        wmma::mma_sync(acc, fa, fb, acc);
        __syncwarp();
    }
    wmma::store_matrix_sync(c, acc, 16, wmma::mem_row_major);
    __syncwarp();
    for (int i = t; i < 256; i += 32)
        if (r0 + i / 16 < M && c0 + i % 16 < N) C[(size_t)(r0 + i / 16) * N + c0 + i % 16] = c[i];
}
