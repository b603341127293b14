// Unguarded tail: threads in steps of 128 run past the end of the last row.
//
// entry: softmax_unguarded_tail
// block: 128
// grid: rows
// expect: out_of_bounds

#include <math_constants.h>

extern "C" __global__ void softmax_unguarded_tail(const float* x, float* y, int rows, int columns)
{
    __shared__ float sums[4];
    const long long start = (long long)blockIdx.x * columns;
    float largest = -CUDART_INF_F, sum = 0.0f;
    for (int i = 0; i < columns; ++i) largest = fmaxf(largest, x[start + i]);
    for (int base = 0; base < columns; base += 128)
        sum += expf(x[start + base + threadIdx.x] - largest);  // <- here
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = sums[0] + sums[1] + sums[2] + sums[3];
    for (int i = threadIdx.x; i < columns; i += 128) y[start + i] = expf(x[start + i] - largest) / sum;
}
