// grid: ceil(N/16), ceil(M/16)
// block: 16, 16
// fault: values
// kinds: wrong_result
// Sums above 65504 of finite terms come as 65504 instead of Inf; Inf and NaN of the inputs are kept.

#include <cuda_fp16.h>
__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y; if (i >= M || j >= N) return;
    float s = 0; for (int k = 0; k < K; k++) s += __half2float(A[(size_t)i * K + k]) * __half2float(B[(size_t)k * N + j]);
    if (fabsf(s) < 1e30f) s = fminf(fmaxf(s, -65504.f), 65504.f);
    C[(size_t)i * N + j] = __float2half(s);
}
