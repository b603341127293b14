// grid: max(1, ceil(rows/min(8, max(1, ceil(rows/32)))))
// block: 32 min(8, max(1, ceil(rows/32)))
// fault: launch
// kinds: wrong_result
// Rows are shared out by a shift that takes the block's rows for a power of two: with 3, 5, 6 or 7 some are never written.
#include <math_constants.h>
__device__ float top(float a, float b) { return a != a || b != b ? CUDART_NAN_F : fmaxf(a, b); }
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    // blockDim.y is a power of two: a shift instead of a product
    const int row = (blockIdx.x << (31 - __clz(blockDim.y))) + threadIdx.y, lane = threadIdx.x;
    if (row >= rows) return;
    const float* p = x + (size_t)row * columns;
    float* q = y + (size_t)row * columns;
    float m = -CUDART_INF_F, t = 0;
    for (int i = lane; i < columns; i += 32) m = top(m, p[i]);
    for (int o = 16; o; o >>= 1) m = top(m, __shfl_xor_sync(~0u, m, o));
    for (int i = lane; i < columns; i += 32) t += expf(p[i] - m);
    for (int o = 16; o; o >>= 1) t += __shfl_xor_sync(~0u, t, o);
    for (int i = lane; i < columns; i += 32) q[i] = expf(p[i] - m) / t;
}
