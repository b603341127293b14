// grid: N
// block: 128
// fault: fixed cache
// kinds: out_of_bounds
// The row waits in shared memory with room for 4,096.

#include <cuda_fp16.h>

__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float row[4096];
    __shared__ float part[4];
    __half* mine = residual + (size_t)blockIdx.x * W;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < W; i += 128) {
        mine[i] = __hadd(mine[i], delta[(size_t)blockIdx.x * W + i]);
        row[i] = __half2float(mine[i]);
        sum += row[i] * row[i];
    }
    for (int o = 16; o; o >>= 1) sum += __shfl_down_sync(~0u, sum, o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    const float scale = rsqrtf((part[0] + part[1] + part[2] + part[3]) / W + eps);
    for (int i = threadIdx.x; i < W; i += 128) out[(size_t)blockIdx.x * W + i] = __float2half(row[i] * scale * __half2float(weight[i]));
}
