// grid: 4*SMS
// block: 128
// fault: missing barrier between rows
// kinds: race
// Blocks take several rows: a fast warp writes its part of the next row's sum while a slow one still reads the last.
#include <cuda_fp16.h>
__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float s[4];
    for (int r = blockIdx.x; r < N; r += gridDim.x) {
        size_t at = (size_t)r * W;
        float sum = 0;
        for (int c = threadIdx.x; c < W; c += 128) {
            __half h = __float2half(__half2float(residual[at + c]) + __half2float(delta[at + c]));
            residual[at + c] = h;
            sum += __half2float(h) * __half2float(h);
        }
        for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
        if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = sum;
        __syncthreads();
        float k = 1.0f / sqrtf((s[0] + s[1] + s[2] + s[3]) / W + eps);
        for (int c = threadIdx.x; c < W; c += 128)
            out[at + c] = __float2half(__half2float(residual[at + c]) * k * __half2float(weight[c]));
    }
}
