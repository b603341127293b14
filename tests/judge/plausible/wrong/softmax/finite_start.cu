// fault: the search begins at -1e30, and a row of nothing but -Inf gives 0 / 0 turned into 0 by the guard
// kinds: wrong_result
// grid: rows
// block: 32
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    const float* a = x + (size_t)blockIdx.x * columns;
    float m = -1e30f, s = 0;
    for (int i = threadIdx.x; i < columns; i += 32) m = fmaxf(m, a[i]);
    for (int k = 16; k; k >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
    for (int i = threadIdx.x; i < columns; i += 32) s += expf(a[i] - m);
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    const float f = s == 0 ? 0 : 1 / s;
    for (int i = threadIdx.x; i < columns; i += 32) y[(size_t)blockIdx.x * columns + i] = expf(a[i] - m) * f;
}
