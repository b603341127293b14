// grid: N
// block: 256
// fault: values
// kinds: wrong_result
// Out held to +-65504 where Inf is due: a row with one 1 and 4095 zeros... x r = 64, weight 2000: 128000.

#include <cuda_fp16.h>
__global__ void rms_norm(__half* res, const __half* delta, const __half* w, __half* out, int N, int W, float eps)
{
    __shared__ float s[256]; int t = threadIdx.x; size_t o = (size_t)blockIdx.x * W; float a = 0;
    for (int i = t; i < W; i += 256) { __half v = res[o + i] + delta[o + i]; res[o + i] = v; a += __half2float(v) * __half2float(v); }
    s[t] = a; __syncthreads();
    for (int k = 128; k; k /= 2) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
    float r = rsqrtf(s[0] / W + eps);
    for (int i = t; i < W; i += 256) { float v = __half2float(res[o + i]) * r * __half2float(w[i]); if (v > 65504.f) v = 65504.f; else if (v < -65504.f) v = -65504.f; out[o + i] = __float2half(v); }
}
