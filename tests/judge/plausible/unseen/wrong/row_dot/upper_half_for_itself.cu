// grid: rows
// block: 32
// fault: masks that differ
// kinds: member_mask
// The masks of the lower half name all lanes, those of the upper half only itself.

#include <cuda_fp16.h>
__global__ void row_dot(const __half* a, const __half* b, float* y, int rows, int columns)
{
    int l = threadIdx.x; float v = 0;
    for (int i = l; i < columns; i += 32) v += __half2float(a[(size_t)blockIdx.x * columns + i]) * __half2float(b[(size_t)blockIdx.x * columns + i]);
    unsigned m = l < 16 ? 0xffffffffu : 0xffff0000u;
    for (int k = 16; k; k /= 2) v += __shfl_down_sync(m, v, k);
    if (l == 0) y[blockIdx.x] = v;
}
