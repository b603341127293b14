// One buffer: the sums go where the maxima are, while slower warps still read those.
//
// entry: softmax_one_buffer
// block: 128
// grid: rows
// expect: race

#include <math_constants.h>

extern "C" __global__ void softmax_one_buffer(const float* x, float* y, int rows, int columns)
{
    __shared__ float of_warps[4];
    const long long start = (long long)blockIdx.x * columns;
    float value = -CUDART_INF_F;
    for (int i = threadIdx.x; i < columns; i += 128) value = fmaxf(value, x[start + i]);
    for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;  // <- here
    __syncthreads();
    const float largest = fmaxf(fmaxf(of_warps[0], of_warps[1]), fmaxf(of_warps[2], of_warps[3]));  // <- here
    value = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 128) value += expf(x[start + i] - largest);
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;  // <- here
    __syncthreads();
    const float sum = of_warps[0] + of_warps[1] + of_warps[2] + of_warps[3];
    for (int i = threadIdx.x; i < columns; i += 128) y[start + i] = expf(x[start + i] - largest) / sum;
}
