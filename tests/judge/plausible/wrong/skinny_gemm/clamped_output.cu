// grid: ceil(N/64) M
// block: 64
// fault: NaN and infinity
// kinds: wrong_result
// Clamps to the range of half: infinite results become 65,504, and NaN a number.
#include <cuda_fp16.h>
__global__ void linear(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    int n = blockIdx.x * 64 + threadIdx.x, m = blockIdx.y, K = 32 * steps;
    if (n >= N) return;
    float s = __half2float(bias[n]);
    for (int k = 0; k < K; ++k) s += __half2float(x[(size_t)m * K + k]) * __half2float(weight[(size_t)n * K + k]);
    y[(size_t)m * N + n] = __float2half(fminf(fmaxf(s, -65504.0f), 65504.0f));
}
