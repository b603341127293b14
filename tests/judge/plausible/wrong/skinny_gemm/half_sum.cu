// grid: ceil(N/64) M
// block: 64
// fault: precision
// kinds: wrong_result
// Accumulates in __half2: ten bits for sums of thousands of products.
#include <cuda_fp16.h>
__global__ void linear(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    int n = blockIdx.x * 64 + threadIdx.x, m = blockIdx.y, K = 32 * steps;
    if (n >= N) return;
    __half2 s = __float2half2_rn(0.0f);
    const __half2* a = (const __half2*)(x + (size_t)m * K);
    const __half2* b = (const __half2*)(weight + (size_t)n * K);
    for (int k = 0; k < K / 2; ++k) s = __hfma2(a[k], b[k], s);
    y[(size_t)m * N + n] = __hadd(__hadd(__low2half(s), __high2half(s)), bias[n]);
}
