// grid: N
// block: 32
// fault: precision
// kinds: wrong_result
// Squares are added up in half: they are infinite above 256 * 256, and long rows stop growing.

#include <cuda_fp16.h>

__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    const size_t row = (size_t)blockIdx.x * W;
    __half sum = __float2half(0.0f);
    for (int i = threadIdx.x; i < W; i += 32) {
        const __half v = __hadd(residual[row + i], delta[row + i]);
        residual[row + i] = v;
        sum = __hfma(v, v, sum);
    }
    for (int o = 16; o; o >>= 1) sum = __hadd(sum, __shfl_xor_sync(~0u, sum, o));
    const float scale = rsqrtf(__half2float(sum) / W + eps);
    for (int i = threadIdx.x; i < W; i += 32) out[row + i] = __float2half(__half2float(residual[row + i]) * scale * __half2float(weight[i]));
}
