// grid: 1 N
// block: 128
// fault: launch
// kinds: launch
// A row per block along y, where 65,535 is the end: 65,536 rows cannot be launched.
#include <cuda_fp16.h>
__global__ void rms(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float s[4];
    size_t base = (size_t)blockIdx.y * W;
    float q = 0;
    for (int i = threadIdx.x; i < W; i += 128) {
        float v = __half2float(residual[base + i]) + __half2float(delta[base + i]);
        residual[base + i] = __float2half(v);
        q += v * v;
    }
    for (int k = 16; k; k >>= 1) q += __shfl_xor_sync(~0u, q, k);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = q;
    __syncthreads();
    float scale = rsqrtf((s[0] + s[1] + s[2] + s[3]) / W + eps);
    for (int i = threadIdx.x; i < W; i += 128) out[base + i] = __float2half(__half2float(residual[base + i]) * scale * __half2float(weight[i]));
}
