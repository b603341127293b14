// grid: N
// block: 256
// fault: eps placement
// kinds: wrong_result
// Eps is added to the root, not to the mean square under it.
#include <cuda_fp16.h>

__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float s[8];
    const size_t base = (size_t)blockIdx.x * W;
    float sum = 0;
    for (int c = threadIdx.x; c < W; c += 256) {
        const __half r = __float2half(__half2float(residual[base + c]) + __half2float(delta[base + c]));
        residual[base + c] = r;
        sum += __half2float(r) * __half2float(r);
    }
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int w = 0; w < 8; ++w) sum += s[w];
    const float scale = 1.0f / (sqrtf(sum / W) + eps);
    for (int c = threadIdx.x; c < W; c += 256) out[base + c] = __float2half(__half2float(residual[base + c]) * scale * __half2float(weight[c]));
}
