// grid: N
// block: 512
// fault: index type
// kinds: wrong_result uninitialised_read out_of_bounds
// The column is a short: rows wider than 32,767 begin again at negative columns, or never.

#include <cuda_fp16.h>

__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float part[16];
    const size_t row = (size_t)blockIdx.x * W;
    const short wide = (short)W;
    float sum = 0.0f;
    for (short i = threadIdx.x; i < wide; i += 512) {
        residual[row + i] = __hadd(residual[row + i], delta[row + i]);
        const float v = __half2float(residual[row + i]);
        sum += v * v;
    }
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int k = 0; k < 16; ++k) sum += part[k];
    const float scale = rsqrtf(sum / wide + eps);
    for (short i = threadIdx.x; i < wide; i += 512) out[row + i] = __float2half(__half2float(residual[row + i]) * scale * __half2float(weight[i]));
}
