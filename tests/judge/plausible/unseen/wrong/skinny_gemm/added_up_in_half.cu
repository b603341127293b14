// grid: ceil(N/4) M
// block: 32 4
// fault: precision
// kinds: wrong_result
// Products are added up by __hfma2: sums of hundreds keep no fraction, and stop growing at 2,048.

#include <cuda_fp16.h>

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int n = blockIdx.x * 4 + threadIdx.y, m = blockIdx.y, pairs = 16 * steps;
    if (n >= N) return;
    const __half2 *a = (const __half2*)x + (size_t)m * pairs, *b = (const __half2*)weight + (size_t)n * pairs;
    __half2 sum = __float2half2_rn(0.0f);
    for (int k = threadIdx.x; k < pairs; k += 32) sum = __hfma2(a[k], b[k], sum);
    for (int o = 16; o; o >>= 1) sum = __hadd2(sum, __shfl_xor_sync(~0u, sum, o));
    if (threadIdx.x == 0) y[(size_t)m * N + n] = __hadd(__hadd(__low2half(sum), __high2half(sum)), bias[n]);
}
