// grid: N
// block: 128
// fault: uninitialised shared
// kinds: uninitialised_read wrong_result
// Only warps with elements of the row leave a sum; all four are added up: rows of 96 elements or fewer take what lay there.
#include <cuda_fp16.h>
__global__ void rms(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float s[4];
    int t = threadIdx.x, warp = t / 32;
    size_t base = (size_t)blockIdx.x * W;
    if (warp * 32 < W) {
        float q = 0;
        for (int i = t; i < W; i += 128) {
            float v = __half2float(residual[base + i]) + __half2float(delta[base + i]);
            residual[base + i] = __float2half(v);
            q += v * v;
        }
        for (int k = 16; k; k >>= 1) q += __shfl_xor_sync(~0u, q, k);
        if (t % 32 == 0) s[warp] = q;
    }
    __syncthreads();
    float scale = rsqrtf((s[0] + s[1] + s[2] + s[3]) / W + eps);
    for (int i = t; i < W; i += 128) out[base + i] = __float2half(__half2float(residual[base + i]) * scale * __half2float(weight[i]));
}
