// fault: leaves out what is not above a threshold, NaN with it: a row with NaN gets numbers
// kinds: wrong_result
// grid: rows
// block: 32
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    const float* a = x + (size_t)blockIdx.x * columns;
    float* b = y + (size_t)blockIdx.x * columns;
    float m = -INFINITY, s = 0;
    for (int i = threadIdx.x; i < columns; i += 32) m = fmaxf(m, a[i]);
    for (int k = 16; k; k >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
    for (int i = threadIdx.x; i < columns; i += 32) {
        b[i] = a[i] > m - 104 ? expf(a[i] - m) : 0;
        s += b[i];
    }
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    for (int i = threadIdx.x; i < columns; i += 32) b[i] /= s;
}
