// 01 thread per row: one thread adds up the products of a row.
//
// Moves: nothing yet. Lanes lie a row apart: a sector for each element that a lane reads.
// Mapping: thread t has row t.
//
// entry: row_dot_thread_per_row
// block: 256
// grid: ceil(rows/256)

#include <cuda_fp16.h>

extern "C" __global__ void row_dot_thread_per_row(const __half* a, const __half* b, float* y, int rows, int columns)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const size_t start = (size_t)row * columns;
    float sum = 0.0f;
    for (int i = 0; i < columns; ++i) sum += __half2float(a[start + i]) * __half2float(b[start + i]);
    y[row] = sum;
}
