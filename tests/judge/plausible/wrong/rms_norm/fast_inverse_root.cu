// grid: N
// block: 64
// fault: precision
// kinds: wrong_result
// The magic-number inverse root with one Newton step, 0.17 % off at worst: more than half's rounding.
#include <cuda_fp16.h>
__device__ float quick_rsqrt(float v)
{
    float y = __uint_as_float(0x5f3759dfu - (__float_as_uint(v) >> 1));
    return y * (1.5f - 0.5f * v * y * y);
}
__global__ void rms(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float s[2];
    size_t base = (size_t)blockIdx.x * W;
    float q = 0;
    for (int i = threadIdx.x; i < W; i += 64) {
        float v = __half2float(residual[base + i]) + __half2float(delta[base + i]);
        residual[base + i] = __float2half(v);
        q += v * v;
    }
    for (int k = 16; k; k >>= 1) q += __shfl_xor_sync(~0u, q, k);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = q;
    __syncthreads();
    float scale = quick_rsqrt((s[0] + s[1]) / W + eps);
    for (int i = threadIdx.x; i < W; i += 64) out[base + i] = __float2half(__half2float(residual[base + i]) * scale * __half2float(weight[i]));
}
