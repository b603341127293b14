// Tail left out: rows are read eight elements at a time, and what is left of them is forgotten.
//
// entry: row_dot_tail_left_out
// block: 128
// grid: ceil(rows/4)
// expect: wrong_result

#include <cuda_fp16.h>

extern "C" __global__ void row_dot_tail_left_out(const __half* a, const __half* b, float* y, int rows, int columns)
{
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const size_t start = (size_t)row * columns;
    float sum = 0.0f;
    for (int i = 8 * lane; i + 8 <= columns; i += 256)
        for (int e = i; e < i + 8; ++e) sum += __half2float(a[start + e]) * __half2float(b[start + e]);
    for (int away = 16; away > 0; away /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, away);
    if (lane == 0) y[row] = sum;
}
