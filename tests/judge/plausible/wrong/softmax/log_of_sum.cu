// fault: y = e^(x - (m + log s)): the logarithm is lost beside an m of thousands
// kinds: wrong_result
// grid: ceil(rows/4)
// block: 32 4
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    const int row = blockIdx.x * 4 + threadIdx.y;
    if (row >= rows) return;
    const float* a = x + (size_t)row * columns;
    float m = -INFINITY, s = 0;
    for (int i = threadIdx.x; i < columns; i += 32) m = fmaxf(m, a[i]);
    for (int k = 16; k; k >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
    for (int i = threadIdx.x; i < columns; i += 32) s += expf(a[i] - m);
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    const float l = m + logf(s);
    for (int i = threadIdx.x; i < columns; i += 32) y[(size_t)row * columns + i] = expf(a[i] - l);
}
