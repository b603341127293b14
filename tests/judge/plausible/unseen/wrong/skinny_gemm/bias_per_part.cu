// grid: ceil(N/8) M
// block: 32 8
// fault: half sums
// kinds: wrong_result
// The sum is kept in half2: from some hundreds on small terms are lost, and the halves are joined in half, too.
#include <cuda_fp16.h>
__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    int n = blockIdx.x * 8 + threadIdx.y, m = blockIdx.y, K = 32 * steps;
    if (n >= N) return;
    const __half2* a = (const __half2*)(x + (size_t)m * K);
    const __half2* b = (const __half2*)(weight + (size_t)n * K);
    __half2 sum = __float2half2_rn(0);
    for (int k = threadIdx.x; k < K / 2; k += 32) sum = __hfma2(a[k], b[k], sum);
    float v = __low2float(sum) + __high2float(sum);
    for (int d = 16; d; d >>= 1) v += __shfl_down_sync(~0u, v, d);
    if (threadIdx.x == 0) y[(size_t)m * N + n] = __float2half(v + __half2float(bias[n]));
}
