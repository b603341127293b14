// grid: N ceil(W/1024)
// block: 256
// fault: race
// kinds: race wrong_result unrepeatable
// Rows are cut into pieces of 1,024, and each block sums the whole row, of which other blocks replace the residual meanwhile.
#include <cuda_fp16.h>
__global__ void rms(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float s[8];
    size_t base = (size_t)blockIdx.x * W;
    float q = 0;
    for (int i = threadIdx.x; i < W; i += 256) {
        float v = __half2float(residual[base + i]) + __half2float(delta[base + i]);
        q += v * v;
    }
    for (int k = 16; k; k >>= 1) q += __shfl_xor_sync(~0u, q, k);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = q;
    __syncthreads();
    q = 0;
    for (float e : s) q += e;
    float scale = rsqrtf(q / W + eps);
    for (int i = blockIdx.y * 1024 + threadIdx.x; i < min(W, (int)blockIdx.y * 1024 + 1024); i += 256) {
        float v = __half2float(residual[base + i]) + __half2float(delta[base + i]);
        residual[base + i] = __float2half(v);
        out[base + i] = __float2half(v * scale * __half2float(weight[i]));
    }
}
