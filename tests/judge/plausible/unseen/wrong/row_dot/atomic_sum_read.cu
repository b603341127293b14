// grid: rows
// block: 32
// fault: atomics within a warp
// kinds: race
// Lanes add to one number in shared memory by atomics; lane 0 reads it behind its own addition, with no __syncwarp: others may not have added.

#include <cuda_fp16.h>
__global__ void row_dot(const __half* a, const __half* b, float* y, int rows, int columns)
{
    __shared__ float s; int t = threadIdx.x; size_t row = blockIdx.x; float v = 0; if (t == 0) s = 0; __syncwarp();
    for (int i = t; i < columns; i += 32) v += __half2float(a[row * columns + i]) * __half2float(b[row * columns + i]);
    atomicAdd(&s, v); if (t == 0) y[row] = s;
}
