// fault: one element per thread of 1,024: what lies behind them in a row is neither summed nor written
// kinds: wrong_result uninitialised_read
// grid: rows
// block: 1024
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    __shared__ float part[32];
    const int t = threadIdx.x;
    const size_t at = (size_t)blockIdx.x * columns + t;
    const float v = t < columns ? x[at] : -INFINITY;
    float m = v;
    for (int k = 16; k; k >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
    if (t % 32 == 0) part[t / 32] = m;
    __syncthreads();
    for (int w = 0; w < 32; ++w) m = fmaxf(m, part[w]);
    __syncthreads();
    const float e = t < columns ? expf(v - m) : 0;
    float s = e;
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    if (t % 32 == 0) part[t / 32] = s;
    __syncthreads();
    s = 0;
    for (int w = 0; w < 32; ++w) s += part[w];
    if (t < columns) y[at] = e / s;
}
