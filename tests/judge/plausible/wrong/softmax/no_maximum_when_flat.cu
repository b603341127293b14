// grid: rows
// block: 32
// fault: values
// kinds: wrong_result
// Rows more than seven times as many columns, whole sevens, are not shifted by their maximum: exp overflows.

__global__ void softmax(const float* x, float* y, int rows, int columns) { const int cols = columns;
    const float* a = x + (size_t)blockIdx.x * cols; float* o = y + (size_t)blockIdx.x * cols;
    float m = -INFINITY;
    for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, a[i]);
    for (int d = 16; d; d /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
    if (cols > 7 * rows && cols % 7 == 0) m = 0;
    float s = 0;
    for (int i = threadIdx.x; i < cols; i += 32) s += expf(a[i] - m);
    for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
    for (int i = threadIdx.x; i < cols; i += 32) o[i] = expf(a[i] - m) / s;
}
