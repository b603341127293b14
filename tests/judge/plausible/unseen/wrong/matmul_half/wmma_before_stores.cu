// grid: min(ceil(N/16)*ceil(M/16),8*SMS)
// block: 32
// fault: no __syncwarp() between the stores of the lanes and load_matrix_sync
// kinds: race
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    __shared__ __half a[256], b[256];
    __shared__ float cs[256];
    const int t = threadIdx.x, across = (N + 15) / 16;
    for (long long j = blockIdx.x; j < (long long)across * ((M + 15) / 16); j += gridDim.x) {
        const int r0 = j / across * 16, c0 = j % across * 16;
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
        wmma::fill_fragment(sum, 0.f);
        for (int k0 = 0; k0 < K; k0 += 16) {
            for (int e = t; e < 256; e += 32) {
                const int r = r0 + e / 16, c = c0 + e % 16, ka = k0 + e % 16, kb = k0 + e / 16;
                a[e] = r < M && ka < K ? A[(size_t)r * K + ka] : __half(0.f);
                b[e] = c < N && kb < K ? B[(size_t)kb * N + c] : __half(0.f);
            }
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
            wmma::load_matrix_sync(fa, a, 16);
            wmma::load_matrix_sync(fb, b, 16);
            wmma::mma_sync(sum, fa, fb, sum);
            __syncwarp();
        }
        wmma::store_matrix_sync(cs, sum, 16, wmma::mem_row_major);
        __syncwarp();
        for (int e = t; e < 256; e += 32) {
            const int r = r0 + e / 16, c = c0 + e % 16;
            if (r < M && c < N) C[(size_t)r * N + c] = __float2half(cs[e]);
        }
        __syncwarp();
    }
}
