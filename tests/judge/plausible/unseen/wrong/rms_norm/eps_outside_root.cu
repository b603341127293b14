// grid: N
// block: 256
// fault: wrong formula
// kinds: wrong_result
// Eps is added to the root rather than to the mean square under it: rows in which eps counts as much as the mean square come out several times too large or small.

#include <cuda_fp16.h>

__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float sums[8];
    const size_t row = (size_t)blockIdx.x * W;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < W; i += 256) {
        const __half h = __float2half(__half2float(residual[row + i]) + __half2float(delta[row + i]));
        residual[row + i] = h;
        const float v = __half2float(h);
        sum = fmaf(v, v, sum);
    }
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int k = 0; k < 8; ++k) sum += sums[k];
    const float scale = 1.0f / (sqrtf(sum / W) + eps);
    for (int i = threadIdx.x; i < W; i += 256)
        out[row + i] = __float2half(__half2float(residual[row + i]) * scale * __half2float(weight[i]));
}
