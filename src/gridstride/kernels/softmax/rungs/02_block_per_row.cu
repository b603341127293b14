// 02 block per row: lanes run along a row; largest element and sum are found pairwise in shared memory.
//
// Moves: sectors per request, from 32 to 4; rows in flight fill the GPU.
// Mapping: one block per row; thread t -> elements t, t + 128, t + 256 ..., once for the largest element, once for the
//   sum and once for the result. In each round of a tree thread t < s takes what thread t + s has.
//
// entry: softmax_block_per_row
// block: 128
// grid: rows

#include <math_constants.h>

constexpr int THREADS = 128;

extern "C" __global__ void __launch_bounds__(THREADS) softmax_block_per_row(
    const float* x, float* y, int rows, int columns)
{
    __shared__ float partial[THREADS];
    const long long start = (long long)blockIdx.x * columns;
    const int t = threadIdx.x;

    float largest = -CUDART_INF_F;
    for (int i = t; i < columns; i += THREADS) largest = fmaxf(largest, x[start + i]);
    partial[t] = largest;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (t < s) partial[t] = fmaxf(partial[t], partial[t + s]);
        __syncthreads();
    }
    largest = partial[0];
    __syncthreads();  // everyone has read it before it becomes a sum

    float sum = 0.0f;
    for (int i = t; i < columns; i += THREADS) sum += expf(x[start + i] - largest);
    partial[t] = sum;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (t < s) partial[t] += partial[t + s];
        __syncthreads();
    }
    sum = partial[0];

    for (int i = t; i < columns; i += THREADS) y[start + i] = expf(x[start + i] - largest) / sum;
}
