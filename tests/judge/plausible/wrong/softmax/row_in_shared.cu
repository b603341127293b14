// fault: the row is kept in shared memory, 4 bytes an element: no row of over 58,000 fits
// kinds: launch
// grid: rows
// block: 256
// shared: 4*columns
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    extern __shared__ float kept[];
    __shared__ float part[8];
    const size_t at = (size_t)blockIdx.x * columns;
    const int t = threadIdx.x;
    float m = -INFINITY, s = 0;
    for (int i = t; i < columns; i += 256) m = fmaxf(m, kept[i] = x[at + i]);
    for (int k = 16; k; k >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
    if (t % 32 == 0) part[t / 32] = m;
    __syncthreads();
    for (float p : part) m = fmaxf(m, p);
    __syncthreads();
    for (int i = t; i < columns; i += 256) s += kept[i] = expf(kept[i] - m);
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    if (t % 32 == 0) part[t / 32] = s;
    __syncthreads();
    s = 0;
    for (float p : part) s += p;
    for (int i = t; i < columns; i += 256) y[at + i] = kept[i] / s;
}
