// grid: N
// block: 64
// fault: wrong formula
// kinds: wrong_result
// Without eps: a row of zeros is 0 / 0, and with a large eps every row is wrong.
#include <cuda_fp16.h>
__global__ void rms(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float total;
    size_t base = (size_t)blockIdx.x * W;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    float q = 0;
    for (int i = threadIdx.x; i < W; i += 64) {
        float v = __half2float(__hadd(residual[base + i], delta[base + i]));
        residual[base + i] = __float2half(v);
        q = fmaf(v, v, q);
    }
    atomicAdd(&total, q);
    __syncthreads();
    float inverse = rsqrtf(total / W);
    for (int i = threadIdx.x; i < W; i += 64) out[base + i] = __float2half(__half2float(residual[base + i]) * inverse * __half2float(weight[i]));
}
