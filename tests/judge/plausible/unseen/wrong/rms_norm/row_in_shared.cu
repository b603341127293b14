// grid: N
// block: 256
// fault: bounds
// kinds: out_of_bounds
// The row is kept in 8192 floats of shared memory: out of bounds where W > 8192 (W = 70000 is promised).

#include <cuda_fp16.h>

__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float kept[8192];
    __shared__ float sums[8];
    const size_t row = (size_t)blockIdx.x * W;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < W; i += 256) {
        const __half h = __float2half(__half2float(residual[row + i]) + __half2float(delta[row + i]));
        residual[row + i] = h;
        kept[i] = __half2float(h);
        sum = fmaf(kept[i], kept[i], sum);
    }
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
    const float scale = rsqrtf(sum / W + eps);
    for (int i = threadIdx.x; i < W; i += 256) out[row + i] = __float2half(kept[i] * scale * __half2float(weight[i]));
}
