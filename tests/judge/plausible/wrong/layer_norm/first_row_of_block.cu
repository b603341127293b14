// fault: four rows a block, mean and rstd written by the block's first warp alone
// kinds: wrong_result uninitialised_read
// grid: ceil(rows/4)
// block: 32 4
__global__ void norm(const float* x, const float* weight, const float* bias, float* y, float* mean, float* rstd, int rows, int columns, float eps)
{
    const int row = blockIdx.x * 4 + threadIdx.y;
    if (row >= rows) return;
    const size_t at = (size_t)row * columns;
    float s = 0, q = 0;
    for (int i = threadIdx.x; i < columns; i += 32) s += x[at + i];
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    const float c = s / columns;
    for (int i = threadIdx.x; i < columns; i += 32) q += (x[at + i] - c) * (x[at + i] - c);
    for (int k = 16; k; k >>= 1) q += __shfl_xor_sync(~0u, q, k);
    const float r = rsqrtf(q / columns + eps);
    for (int i = threadIdx.x; i < columns; i += 32) y[at + i] = (x[at + i] - c) * r * weight[i] + bias[i];
    if (threadIdx.x == 0 && threadIdx.y == 0) mean[row] = c, rstd[row] = r;
}
