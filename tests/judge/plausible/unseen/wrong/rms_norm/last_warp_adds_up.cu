// grid: N
// block: 256
// fault: race between warps
// kinds: race wrong_result
// The last warp adds up what the others have written, without a barrier before it: the others need not have come so far.

#include <cuda_fp16.h>

__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float part[8];
    __shared__ float scale;
    const size_t row = (size_t)blockIdx.x * W;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < W; i += 256) {
        residual[row + i] = __hadd(residual[row + i], delta[row + i]);
        const float v = __half2float(residual[row + i]);
        sum += v * v;
    }
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    if (threadIdx.x >= 224) {
        __syncwarp();
        sum = threadIdx.x < 232 ? part[threadIdx.x - 224] : 0.0f;
        for (int o = 4; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
        if (threadIdx.x == 224) scale = rsqrtf(sum / W + eps);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < W; i += 256) out[row + i] = __float2half(__half2float(residual[row + i]) * scale * __half2float(weight[i]));
}
