// fault: a thread's weight and bias are read once, for its first element, and kept for the others
// kinds: wrong_result
// grid: rows
// block: 256
__global__ void norm(const float* x, const float* weight, const float* bias, float* y, float* mean, float* rstd, int rows, int columns, float eps)
{
    __shared__ float part[2][8];
    const size_t at = (size_t)blockIdx.x * columns;
    const int t = threadIdx.x;
    const float w = t < columns ? weight[t] : 0, b = t < columns ? bias[t] : 0;
    float s = 0, q = 0;
    for (int i = t; i < columns; i += 256) s += x[at + i];
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    if (t % 32 == 0) part[0][t / 32] = s;
    __syncthreads();
    s = 0;
    for (int k = 0; k < 8; ++k) s += part[0][k];
    const float c = s / columns;
    for (int i = t; i < columns; i += 256) q += (x[at + i] - c) * (x[at + i] - c);
    for (int k = 16; k; k >>= 1) q += __shfl_xor_sync(~0u, q, k);
    if (t % 32 == 0) part[1][t / 32] = q;
    __syncthreads();
    q = 0;
    for (int k = 0; k < 8; ++k) q += part[1][k];
    const float r = rsqrtf(q / columns + eps);
    for (int i = t; i < columns; i += 256) y[at + i] = (x[at + i] - c) * r * w + b;
    if (t == 0) mean[blockIdx.x] = c, rstd[blockIdx.x] = r;
}
