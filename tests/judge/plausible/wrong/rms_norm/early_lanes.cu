// grid: N
// block: 256
// fault: member mask
// kinds: member_mask wrong_result uninitialised_read inactive_lane
// Shuffles inside the loop over the row: in the last turn some lanes of a warp are not there, unless W is a multiple of 32.
#include <cuda_fp16.h>
__global__ void rms(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float total;
    size_t base = (size_t)blockIdx.x * W;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < W; i += 256) {
        float v = __half2float(residual[base + i]) + __half2float(delta[base + i]);
        residual[base + i] = __float2half(v);
        float q = v * v;
        for (int k = 16; k; k >>= 1) q += __shfl_down_sync(0xffffffffu, q, k);
        if (threadIdx.x % 32 == 0) atomicAdd(&total, q);
    }
    __syncthreads();
    float scale = rsqrtf(total / W + eps);
    for (int i = threadIdx.x; i < W; i += 256) out[base + i] = __float2half(__half2float(residual[base + i]) * scale * __half2float(weight[i]));
}
