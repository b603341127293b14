// Two rows together: sixteen lanes have a row, and the shuffles go over all thirty-two.
//
// entry: row_dot_two_rows_together
// block: 128
// grid: ceil(rows/8)
// expect: wrong_result

#include <cuda_fp16.h>

extern "C" __global__ void row_dot_two_rows_together(const __half* a, const __half* b, float* y, int rows, int columns)
{
    const int row = blockIdx.x * 8 + threadIdx.x / 16, lane = threadIdx.x % 16;
    float sum = 0.0f;
    for (int i = lane; i < columns && row < rows; i += 16)
        sum += __half2float(a[(size_t)row * columns + i]) * __half2float(b[(size_t)row * columns + i]);
    for (int away = 16; away > 0; away /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, away);
    if (lane == 0 && row < rows) y[row] = sum;
}
