// grid: N
// block: 128
// fault: precision
// kinds: wrong_result
// Squares are taken in half: above 256 they are infinite, below 2^-12 zero.
#include <cuda_fp16.h>
__global__ void rms(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float part[128];
    int t = threadIdx.x;
    size_t base = (size_t)blockIdx.x * W;
    float q = 0;
    for (int i = t; i < W; i += 128) {
        __half v = __hadd(residual[base + i], delta[base + i]);
        residual[base + i] = v;
        q += __half2float(__hmul(v, v));
    }
    part[t] = q;
    for (int k = 64; k > 0; k /= 2) {
        __syncthreads();
        if (t < k) part[t] += part[t + k];
    }
    __syncthreads();
    float scale = rsqrtf(part[0] / W + eps);
    for (int i = t; i < W; i += 128) out[base + i] = __float2half(__half2float(residual[base + i]) * scale * __half2float(weight[i]));
}
