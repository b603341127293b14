// grid: rows
// block: 32
// fault: atomics within a warp
// kinds: race uninitialised_read
// Lanes of a warp put down sums and count by atomicAdd with a fence; lane 0 reads all sums behind its own count.

#include <cuda_fp16.h>
__global__ void row_dot(const __half* a, const __half* b, float* y, int rows, int columns)
{
    __shared__ float s[32]; __shared__ int c; int t = threadIdx.x; size_t row = blockIdx.x; float v = 0; if (t == 0) c = 0; __syncwarp();
    for (int i = t; i < columns; i += 32) v += __half2float(a[row * columns + i]) * __half2float(b[row * columns + i]);
    s[t] = v; __threadfence_block(); atomicAdd(&c, 1); __threadfence_block();
    if (t == 0) { v = 0; for (int k = 0; k < 32; k++) v += s[k]; y[row] = v; }
}
