// grid: N
// block: 256
// fault: fixed count
// kinds: out_of_bounds race
// The row is kept in 4,096 floats of shared memory; wider rows run over it.
#include <cuda_fp16.h>
__global__ void rms(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float row[4096];
    __shared__ float s[8];
    size_t base = (size_t)blockIdx.x * W;
    float q = 0;
    for (int i = threadIdx.x; i < W; i += 256) {
        row[i] = __half2float(residual[base + i]) + __half2float(delta[base + i]);
        residual[base + i] = __float2half(row[i]);
        q += row[i] * row[i];
    }
    for (int k = 16; k; k >>= 1) q += __shfl_xor_sync(~0u, q, k);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = q;
    __syncthreads();
    q = 0;
    for (int k = 0; k < 8; ++k) q += s[k];
    float scale = rsqrtf(q / W + eps);
    for (int i = threadIdx.x; i < W; i += 256) out[base + i] = __float2half(row[i] * scale * __half2float(weight[i]));
}
