// Unguarded tail: threads in steps of 128 run past the end of the last row.
//
// entry: rms_norm_unguarded_tail
// block: 128
// grid: N
// expect: out_of_bounds

#include <cuda_fp16.h>

extern "C" __global__ void rms_norm_unguarded_tail(
    __half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float sums[4];
    const int start = blockIdx.x * W;
    float squares = 0.0f;
    for (int base = 0; base < W; base += 128) {
        const int i = start + base + threadIdx.x;
        const float x = __half2float(residual[i]) + __half2float(delta[i]);  // <- here
        squares += x * x;
    }
    for (int offset = 16; offset > 0; offset /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, offset);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = squares;
    __syncthreads();
    const float scale = rsqrtf((sums[0] + sums[1] + sums[2] + sums[3]) / W + eps);
    for (int i = threadIdx.x; i < W; i += 128) {
        const float x = __half2float(residual[start + i]) + __half2float(delta[start + i]);
        residual[start + i] = __float2half(x);
        out[start + i] = __float2half(x * scale * __half2float(weight[i]));
    }
}
