// grid: ceil(N/32) M ceil(steps/8)
// block: 32
// fault: order of blocks
// kinds: race wrong_result unrepeatable
// Pieces of eight steps are added to y one after the other, the first with the bias: as if blocks came in order. Right up to 8 steps.

#include <cuda_fp16.h>

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int n = blockIdx.x * 32 + threadIdx.x, m = blockIdx.y, K = 32 * steps, from = blockIdx.z * 256, to = min(K, from + 256);
    if (n >= N) return;
    float sum = 0.0f;
    for (int k = from; k < to; ++k) sum += __half2float(x[(size_t)m * K + k]) * __half2float(weight[(size_t)n * K + k]);
    __half* cell = y + (size_t)m * N + n;
    *cell = __float2half(sum + __half2float(blockIdx.z ? *(volatile __half*)cell : bias[n]));
}
