// grid: ceil(N/64) M
// block: 64
// fault: NaN and infinity
// kinds: wrong_result
// Rows of x are often sparse behind a ReLU: zeros are skipped, and with them 0 times an infinite weight.
#include <cuda_fp16.h>
__global__ void linear_relu_in(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    int n = blockIdx.x * 64 + threadIdx.x, m = blockIdx.y, K = 32 * steps;
    if (n >= N) return;
    float s = __half2float(bias[n]);
    for (int k = 0; k < K; ++k) {
        float v = __half2float(x[(size_t)m * K + k]);
        if (v == 0.0f) continue;
        s += v * __half2float(weight[(size_t)n * K + k]);
    }
    y[(size_t)m * N + n] = __float2half(s);
}
