// grid: N
// block: 32
// fault: wrong formula
// kinds: wrong_result
// eps is added to the root instead of to the mean under it: far off for rows about as small as sqrt(eps).
#include <cuda_fp16.h>
__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    size_t row = (size_t)blockIdx.x * W;
    float q = 0;
    for (int i = threadIdx.x; i < W; i += 32) {
        float v = __half2float(residual[row + i]) + __half2float(delta[row + i]);
        residual[row + i] = __float2half(v);
        q += v * v;
    }
    for (int k = 16; k; k >>= 1) q += __shfl_xor_sync(0xffffffffu, q, k);
    float rms = sqrtf(q / W) + eps;
    for (int i = threadIdx.x; i < W; i += 32) out[row + i] = __float2half(__half2float(residual[row + i]) / rms * __half2float(weight[i]));
}
