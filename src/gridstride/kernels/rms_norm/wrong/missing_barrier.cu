// Missing barrier: the sums of the warps are read before every warp has put its own there.
//
// entry: rms_norm_missing_barrier
// block: 128
// grid: N
// expect: race

#include <cuda_fp16.h>

extern "C" __global__ void rms_norm_missing_barrier(
    __half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float sums[4];
    const int start = blockIdx.x * W;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < W; i += 128) {
        const float x = __half2float(residual[start + i]) + __half2float(delta[start + i]);
        residual[start + i] = __float2half(x);
        squares += x * x;
    }
    for (int offset = 16; offset > 0; offset /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, offset);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = squares;  // <- here
    const float total = sums[0] + sums[1] + sums[2] + sums[3];  // <- here
    const float scale = rsqrtf(total / W + eps);
    for (int i = threadIdx.x; i < W; i += 128)
        out[start + i] = __float2half(__half2float(residual[start + i]) * scale * __half2float(weight[i]));
}
