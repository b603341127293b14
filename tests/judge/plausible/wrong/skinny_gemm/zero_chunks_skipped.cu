// grid: ceil(N/8) M
// block: 256
// fault: NaN and infinity
// kinds: wrong_result
// Chunks of x that are all zero are skipped (sparse activations): 0 times Inf or NaN in the weights is NaN.
#include <cuda_fp16.h>
__global__ void lin(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    int lane = threadIdx.x % 32, n = blockIdx.x * 8 + threadIdx.x / 32, m = blockIdx.y, K = 32 * steps;
    if (n >= N) return;
    float s = 0;
    for (int k = lane; k < K; k += 32) {
        float a = __half2float(x[(size_t)m * K + k]);
        if (__all_sync(~0u, a == 0.0f)) continue;
        s += a * __half2float(weight[(size_t)n * K + k]);
    }
    for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
    if (lane == 0) y[(size_t)m * N + n] = __float2half(s + __half2float(bias[n]));
}
