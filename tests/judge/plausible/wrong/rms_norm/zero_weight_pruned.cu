// grid: N
// block: 128
// fault: NaN and infinity
// kinds: wrong_result
// Channels of weight 0 are written as 0 ('pruned'): in a row with a NaN the product is NaN.
#include <cuda_fp16.h>
__global__ void rms(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float s[4];
    size_t at = (size_t)blockIdx.x * W;
    float q = 0;
    for (int i = threadIdx.x; i < W; i += 128) {
        float v = __half2float(residual[at + i]) + __half2float(delta[at + i]);
        residual[at + i] = __float2half(v);
        q += v * v;
    }
    for (int o = 16; o; o /= 2) q += __shfl_xor_sync(~0u, q, o);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = q;
    __syncthreads();
    float scale = rsqrtf((s[0] + s[1] + s[2] + s[3]) / W + eps);
    for (int i = threadIdx.x; i < W; i += 128)
        out[at + i] = __half2float(weight[i]) == 0.0f ? __float2half(0.0f) : __float2half(__half2float(residual[at + i]) * scale * __half2float(weight[i]));
}
