// grid: rows
// block: 32
// fault: atomics within a warp
// kinds: race
// Lanes add to one number in global memory (y) by atomics, lane 0 having set it to 0 behind a __syncwarp; lane 0 then doubles its half plainly, with no __syncwarp: 0.5 each, y += y.

#include <cuda_fp16.h>
__global__ void row_dot(const __half* a, const __half* b, float* y, int rows, int columns)
{
    int t = threadIdx.x; size_t row = blockIdx.x; float v = 0; if (t == 0) y[row] = 0; __syncwarp();
    for (int i = t; i < columns; i += 32) v += __half2float(a[row * columns + i]) * __half2float(b[row * columns + i]);
    atomicAdd(&y[row], 0.5f * v); if (t == 0) y[row] = y[row] + y[row];
}
