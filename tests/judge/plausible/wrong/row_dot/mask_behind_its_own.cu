// grid: rows
// block: 32
// fault: missing syncwarp
// kinds: race
// Lanes set their bit in a mask where they have a sum; each reads the mask behind its own atomicOr, with no __syncwarp().

#include <cuda_fp16.h>
__global__ void row_dot(const __half* a, const __half* b, float* y, int rows, int columns)
{
    __shared__ float s[32];
    __shared__ unsigned there;
    const int lane = threadIdx.x;
    const size_t row = blockIdx.x;
    float v = 0.0f;
    for (int i = lane; i < columns; i += 32) v += __half2float(a[row * columns + i]) * __half2float(b[row * columns + i]);
    if (lane == 0) there = 0;
    s[lane] = v;
    __syncwarp();
    if (lane < columns) atomicOr(&there, 1u << lane);
    unsigned mask = there;
    v = 0.0f;
    for (; mask; mask &= mask - 1) v += s[__ffs(mask) - 1];
    if (lane == 0) y[row] = v;
}
