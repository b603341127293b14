// Of the block: several rows share a block, and the block's one sum is taken for each of them.
//
// entry: softmax_of_the_block
// block: 32 4
// grid: ceil(rows/4)
// expect: wrong_result

#include <math_constants.h>

extern "C" __global__ void softmax_of_the_block(const float* x, float* y, int rows, int columns)
{
    __shared__ float total;
    if (threadIdx.x == 0 && threadIdx.y == 0) total = 0.0f;
    __syncthreads();
    const int row = blockIdx.x * 4 + threadIdx.y;
    const long long start = (long long)row * columns;
    float largest = -CUDART_INF_F, sum = 0.0f;
    if (row < rows) {
        for (int i = threadIdx.x; i < columns; i += 32) largest = fmaxf(largest, x[start + i]);
        for (int offset = 16; offset > 0; offset /= 2)
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
        for (int i = threadIdx.x; i < columns; i += 32) sum += expf(x[start + i] - largest);
        atomicAdd(&total, sum);
    }
    __syncthreads();
    if (row < rows)
        for (int i = threadIdx.x; i < columns; i += 32) y[start + i] = expf(x[start + i] - largest) / total;
}
