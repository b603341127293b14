// grid: N
// block: 128
// fault: values
// kinds: wrong_result
// Rows whose mean square is below 1e-6 are taken for zeros and given as zeros: small rows, which eps only damps.

#include <cuda_fp16.h>

__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float s[128];
    const size_t row = (size_t)blockIdx.x * W;
    const int t = threadIdx.x;
    s[t] = 0.0f;
    for (int i = t; i < W; i += 128) {
        residual[row + i] = __hadd(residual[row + i], delta[row + i]);
        const float v = __half2float(residual[row + i]);
        s[t] += v * v;
    }
    for (int w = 64; w; w >>= 1) {
        __syncthreads();
        if (t < w) s[t] += s[t + w];
    }
    __syncthreads();
    const float mean = s[0] / W, scale = mean < 1e-6f ? 0.0f : rsqrtf(mean + eps);
    for (int i = t; i < W; i += 128) out[row + i] = __float2half(__half2float(residual[row + i]) * scale * __half2float(weight[i]));
}
