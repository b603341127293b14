// 01 thread per row: one thread goes over a row three times, for the largest element, the sum and the result.
//
// Moves: nothing yet. Neighbouring lanes read elements a row apart, so every request touches 32 sectors.
// Mapping: thread t of block b -> row b * 32 + t.
//
// entry: softmax_thread_per_row
// block: 32
// grid: ceil(rows/32)

#include <math_constants.h>

extern "C" __global__ void softmax_thread_per_row(const float* x, float* y, int rows, int columns)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const long long start = (long long)row * columns;
    float largest = -CUDART_INF_F;
    for (int i = 0; i < columns; ++i) largest = fmaxf(largest, x[start + i]);
    float sum = 0.0f;
    for (int i = 0; i < columns; ++i) sum += expf(x[start + i] - largest);
    for (int i = 0; i < columns; ++i) y[start + i] = expf(x[start + i] - largest) / sum;
}
