// fault: two sums run in half precision, of the even and the odd steps of k, and only their sum is a float
// kinds: wrong_result
// grid: ceil(N/32) ceil(M/8)
// block: 32 8
#include <cuda_fp16.h>
__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    const int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
    if (i >= M || j >= N) return;
    __half2 sums = __float2half2_rn(0.0f);
    const __half zero = __float2half(0.0f);
    for (int k = 0; k < K; k += 2) {
        const bool both = k + 1 < K;
        const __half2 a = __halves2half2(A[(size_t)i * K + k], both ? A[(size_t)i * K + k + 1] : zero);
        const __half2 b = __halves2half2(B[(size_t)k * N + j], both ? B[(size_t)(k + 1) * N + j] : zero);
        sums = __hfma2(a, b, sums);
    }
    C[(size_t)i * N + j] = __float2half(__low2float(sums) + __high2float(sums));
}
