// grid: ceil(N/64)
// block: 64
// fault: fixed size
// kinds: wrong_result
// "few rows": at most 32, one accumulator each, and the grid has columns only.
#include <cuda_fp16.h>

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int n = blockIdx.x * 64 + threadIdx.x, K = 32 * steps;
    if (n >= N) return;
    const int rows = min(M, 32);
    float acc[32];
#pragma unroll
    for (int m = 0; m < 32; ++m) acc[m] = __half2float(bias[n]);
    for (int k = 0; k < K; k += 2) {
        const float2 w = __half22float2(*(const __half2*)(weight + (size_t)n * K + k));
#pragma unroll
        for (int m = 0; m < 32; ++m)
            if (m < rows) {
                const float2 a = __half22float2(*(const __half2*)(x + (size_t)m * K + k));
                acc[m] += a.x * w.x + a.y * w.y;
            }
    }
#pragma unroll
    for (int m = 0; m < 32; ++m)
        if (m < rows) y[(size_t)m * N + n] = __float2half(acc[m]);
}
