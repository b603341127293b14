// grid: rows
// block: 32
// fault: atomics within a warp
// kinds: race
// Lane 0 sets the sum in shared memory to 0 by a plain store, other lanes add to it with no __syncwarp between.

#include <cuda_fp16.h>
__global__ void row_dot(const __half* a, const __half* b, float* y, int rows, int columns)
{
    __shared__ float s; int t = threadIdx.x; size_t row = blockIdx.x; float v = 0;
    for (int i = t; i < columns; i += 32) v += __half2float(a[row * columns + i]) * __half2float(b[row * columns + i]);
    if (t == 0) s = 0; atomicAdd(&s, v); __syncwarp(); if (t == 0) y[row] = s;
}
