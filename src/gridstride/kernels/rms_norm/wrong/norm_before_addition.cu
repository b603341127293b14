// Norm before addition: the rms is that of the residual stream as it was, without what is added to it.
//
// entry: rms_norm_norm_before_addition
// block: 32
// grid: ceil(N/32)
// expect: wrong_result

#include <cuda_fp16.h>

extern "C" __global__ void rms_norm_norm_before_addition(
    __half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) return;
    float squares = 0.0f;
    for (int i = row * W; i < row * W + W; ++i) {
        const float old = __half2float(residual[i]);
        squares += old * old;
        residual[i] = __float2half(old + __half2float(delta[i]));
    }
    const float scale = rsqrtf(squares / W + eps);
    for (int i = 0; i < W; ++i)
        out[row * W + i] = __float2half(__half2float(residual[row * W + i]) * scale * __half2float(weight[i]));
}
