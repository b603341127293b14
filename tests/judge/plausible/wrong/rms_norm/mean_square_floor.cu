// grid: N
// block: 128
// fault: value range
// kinds: wrong_result
// Mean square plus eps is held above 1e-8 'for safety': with a smaller eps rows of small halves (6e-8 ... 1e-4) come
// out too small.
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
    float mean = (s[0] + s[1] + s[2] + s[3]) / W + eps;
    float scale = rsqrtf(mean < 1e-8f ? 1e-8f : mean);
    for (int i = threadIdx.x; i < W; i += 128)
        out[at + i] = __float2half(__half2float(residual[at + i]) * scale * __half2float(weight[i]));
}
