// grid: rows
// block: 32
// fault: atomics within a warp
// kinds: race
// Lanes put down sums and count through global memory and a global counter that wraps.

#include <cuda_fp16.h>
__device__ float s[262208 * 32]; __device__ unsigned c;
__global__ void row_dot(const __half* a, const __half* b, float* y, int rows, int columns)
{
    int t = threadIdx.x; size_t row = blockIdx.x; float v = 0;
    for (int i = t; i < columns; i += 32) v += __half2float(a[row * columns + i]) * __half2float(b[row * columns + i]);
    s[row * 32 + t] = v; __threadfence(); atomicAdd(&c, 1u); __threadfence();
    if (t == 0) { v = 0; for (int k = 0; k < 32; k++) v += s[row * 32 + k]; y[row] = v; }
}
