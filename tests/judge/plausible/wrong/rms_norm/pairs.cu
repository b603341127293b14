// grid: N
// block: 128
// fault: tail of 2
// kinds: misaligned wrong_result
// Everything in __half2, W / 2 of them: an odd W misaligns every other row and loses the last element.
#include <cuda_fp16.h>
__global__ void rms(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float s[4];
    __half2* r = (__half2*)(residual + (size_t)blockIdx.x * W);
    const __half2* d = (const __half2*)(delta + (size_t)blockIdx.x * W);
    __half2* o = (__half2*)(out + (size_t)blockIdx.x * W);
    float q = 0;
    for (int i = threadIdx.x; i < W / 2; i += 128) {
        float2 a = __half22float2(r[i]), b = __half22float2(d[i]);
        a.x += b.x; a.y += b.y;
        r[i] = __floats2half2_rn(a.x, a.y);
        q += a.x * a.x + a.y * a.y;
    }
    for (int k = 16; k; k >>= 1) q += __shfl_xor_sync(~0u, q, k);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = q;
    __syncthreads();
    float scale = rsqrtf((s[0] + s[1] + s[2] + s[3]) / W + eps);
    for (int i = threadIdx.x; i < W / 2; i += 128) {
        float2 a = __half22float2(r[i]), w = __half22float2(((const __half2*)weight)[i]);
        o[i] = __floats2half2_rn(a.x * scale * w.x, a.y * scale * w.y);
    }
}
