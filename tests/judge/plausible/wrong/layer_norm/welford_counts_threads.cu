// fault: Welford's partial results are put together as if every lane had seen as many elements as the first
// kinds: wrong_result
// grid: rows
// block: 32
__global__ void norm(const float* x, const float* weight, const float* bias, float* y, float* mean, float* rstd, int rows, int columns, float eps)
{
    const size_t at = (size_t)blockIdx.x * columns;
    float n = 0, c = 0, q = 0;
    for (int i = threadIdx.x; i < columns; i += 32) {
        const float d = x[at + i] - c;
        n += 1;
        c += d / n;
        q += d * (x[at + i] - c);
    }
    n = __shfl_sync(~0u, n, 0);
    for (int k = 16; k; k >>= 1) {
        const float other = __shfl_xor_sync(~0u, c, k), d = other - c;
        q += __shfl_xor_sync(~0u, q, k) + d * d * n / 2;
        c = (c + other) / 2;
        n *= 2;
    }
    const float r = rsqrtf(q / columns + eps);
    for (int i = threadIdx.x; i < columns; i += 32) y[at + i] = (x[at + i] - c) * r * weight[i] + bias[i];
    if (threadIdx.x == 0) mean[blockIdx.x] = c, rstd[blockIdx.x] = r;
}
