// Sum in half: products are added up in float16, which holds eleven bits of them.
//
// entry: row_dot_sum_in_half
// block: 64
// grid: ceil(rows/64)
// expect: wrong_result

#include <cuda_fp16.h>

extern "C" __global__ void row_dot_sum_in_half(const __half* a, const __half* b, float* y, int rows, int columns)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    __half sum = 0.0f;
    for (int i = 0; i < columns; ++i) sum = __hfma(a[(size_t)row * columns + i], b[(size_t)row * columns + i], sum);
    y[row] = __half2float(sum);
}
