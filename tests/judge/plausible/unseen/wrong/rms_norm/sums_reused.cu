// grid: 2
// block: 64
// fault: race
// kinds: race
// Two persistent blocks go over the rows, and the next row's warp sums are stored while a slower warp may still be reading this row's: a race where a block has two rows (N > 2).

#include <cuda_fp16.h>

__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float sums[2];
    for (int n = blockIdx.x; n < N; n += gridDim.x) {
        __half* r = residual + (size_t)n * W;
        const __half* d = delta + (size_t)n * W;
        float sum = 0.0f;
        for (int i = threadIdx.x; i < W; i += 64) {
            r[i] = __float2half(__half2float(r[i]) + __half2float(d[i]));
            sum = fmaf(__half2float(r[i]), __half2float(r[i]), sum);
        }
        for (int k = 16; k > 0; k >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, k);
        if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
        __syncthreads();
        const float scale = rsqrtf((sums[0] + sums[1]) / W + eps);
        for (int i = threadIdx.x; i < W; i += 64) out[(size_t)n * W + i] = __float2half(__half2float(r[i]) * scale * __half2float(weight[i]));
    }
}
