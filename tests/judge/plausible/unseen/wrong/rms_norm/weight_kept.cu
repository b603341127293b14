// grid: N
// block: 32
// fault: race
// kinds: race
// The weights are copied into a __device__ table by the first launch and never again: a later launch with other weights uses the old ones (and blocks of the first launch may read the table before it is filled).

#include <cuda_fp16.h>

__device__ float table[70016];
__device__ int filled = 0;

__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    const int lane = threadIdx.x;
    if (filled < W) {
        for (int i = lane; i < W; i += 32) table[i] = __half2float(weight[i]);
        __threadfence();
        __syncwarp();
        if (lane == 0) atomicMax(&filled, W);
    }
    __syncwarp();
    const size_t row = (size_t)blockIdx.x * W;
    float sum = 0.0f;
    for (int i = lane; i < W; i += 32) {
        const __half h = __float2half(__half2float(residual[row + i]) + __half2float(delta[row + i]));
        residual[row + i] = h;
        sum = fmaf(__half2float(h), __half2float(h), sum);
    }
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    const float scale = rsqrtf(sum / W + eps);
    for (int i = lane; i < W; i += 32) out[row + i] = __float2half(__half2float(residual[row + i]) * scale * table[i]);
}
