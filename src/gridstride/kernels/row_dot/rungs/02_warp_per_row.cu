// 02 warp per row: lanes run along a row and add up their sums by shuffles.
//
// Moves: sectors per request, from 32 to 2.
// Mapping: warp w has row w; lane l elements l, l + 32 and so on.
//
// entry: row_dot_warp_per_row
// block: 128
// grid: ceil(rows/4)

#include <cuda_fp16.h>

extern "C" __global__ void row_dot_warp_per_row(const __half* a, const __half* b, float* y, int rows, int columns)
{
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const size_t start = (size_t)row * columns;
    float sum = 0.0f;
    for (int i = lane; i < columns; i += 32) sum += __half2float(a[start + i]) * __half2float(b[start + i]);
    for (int away = 16; away > 0; away /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, away);
    if (lane == 0) y[row] = sum;
}
