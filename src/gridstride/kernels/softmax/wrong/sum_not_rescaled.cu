// Sum not rescaled: a larger element takes over as the maximum, and the sum so far stays as it was.
//
// entry: softmax_sum_not_rescaled
// block: 32
// grid: ceil(rows/32)
// expect: wrong_result

#include <math_constants.h>

extern "C" __global__ void softmax_sum_not_rescaled(const float* x, float* y, int rows, int columns)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const long long start = (long long)row * columns;
    float largest = -CUDART_INF_F, sum = 0.0f;
    for (int i = 0; i < columns; ++i) {
        largest = fmaxf(largest, x[start + i]);
        sum += expf(x[start + i] - largest);
    }
    for (int i = 0; i < columns; ++i) y[start + i] = expf(x[start + i] - largest) / sum;
}
