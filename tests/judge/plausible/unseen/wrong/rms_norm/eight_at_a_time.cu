// grid: N
// block: 64
// fault: tail and alignment of some rows
// kinds: wrong_result misaligned
// W / 8 groups of sixteen bytes: what W leaves over is neither counted nor written, and rows of W % 8 = 4 begin between two.

#include <cuda_fp16.h>

__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float part[2];
    struct alignas(16) Eight { __half2 h[4]; };
    Eight* r = (Eight*)(residual + (size_t)blockIdx.x * W);
    const Eight *d = (const Eight*)(delta + (size_t)blockIdx.x * W), *w = (const Eight*)weight;
    Eight* o = (Eight*)(out + (size_t)blockIdx.x * W);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < W / 8; i += 64) {
        Eight a = r[i], b = d[i];
        for (int k = 0; k < 4; ++k) {
            a.h[k] = __hadd2(a.h[k], b.h[k]);
            const float2 f = __half22float2(a.h[k]);
            sum += f.x * f.x + f.y * f.y;
        }
        r[i] = a;
    }
    for (int s = 16; s; s >>= 1) sum += __shfl_xor_sync(~0u, sum, s);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    const float scale = rsqrtf((part[0] + part[1]) / W + eps);
    for (int i = threadIdx.x; i < W / 8; i += 64) {
        Eight a = r[i], v = w[i], result;
        for (int k = 0; k < 4; ++k) {
            const float2 f = __half22float2(a.h[k]), g = __half22float2(v.h[k]);
            result.h[k] = __floats2half2_rn(f.x * scale * g.x, f.y * scale * g.y);
        }
        o[i] = result;
    }
}
