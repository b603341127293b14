// grid: 1
// block: 1
// One thread, in float64.
#include <cuda_fp16.h>
__global__ void rms(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    for (int n = 0; n < N; ++n) {
        __half *r = residual + (size_t)n * W, *o = out + (size_t)n * W;
        const __half* d = delta + (size_t)n * W;
        double q = 0;
        for (int i = 0; i < W; ++i) {
            const float v = __half2float(r[i]) + __half2float(d[i]);
            r[i] = __float2half(v);
            q += (double)v * v;
        }
        const double scale = 1.0 / sqrt(q / W + eps);
        for (int i = 0; i < W; ++i) o[i] = __float2half((float)(__half2float(r[i]) * scale * __half2float(weight[i])));
    }
}
