// grid: N
// block: 512
// fault: fixed count
// kinds: wrong_result
// Eight elements per thread in registers, 4,096 in all: what lies behind them in a row is neither summed nor written.
#include <cuda_fp16.h>
__global__ void rms(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float s[16];
    size_t base = (size_t)blockIdx.x * W;
    float v[8], q = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        int i = k * 512 + threadIdx.x;
        v[k] = i < W ? __half2float(residual[base + i]) + __half2float(delta[base + i]) : 0.0f;
        q += v[k] * v[k];
    }
    for (int k = 16; k; k >>= 1) q += __shfl_xor_sync(~0u, q, k);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = q;
    __syncthreads();
    q = 0;
    for (float e : s) q += e;
    float scale = rsqrtf(q / W + eps);
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        int i = k * 512 + threadIdx.x;
        if (i >= W) continue;
        residual[base + i] = __float2half(v[k]);
        out[base + i] = __float2half(v[k] * scale * __half2float(weight[i]));
    }
}
