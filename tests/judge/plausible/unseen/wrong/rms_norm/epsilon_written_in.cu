// grid: N
// block: 256
// fault: parameter hard-coded
// kinds: wrong_result
// eps is 1e-5 in the kernel, whatever the caller gives.

#include <cuda_fp16.h>

#define EPS 1e-5f

__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float part[8];
    const size_t row = (size_t)blockIdx.x * W;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < W; i += 256) {
        const __half v = __float2half(__half2float(residual[row + i]) + __half2float(delta[row + i]));
        residual[row + i] = v;
        sum += __half2float(v) * __half2float(v);
    }
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int k = 0; k < 8; ++k) sum += part[k];
    const float scale = rsqrtf(sum / W + EPS);
    for (int i = threadIdx.x; i < W; i += 256) out[row + i] = __float2half(__half2float(residual[row + i]) * scale * __half2float(weight[i]));
}
