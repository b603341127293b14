// fault: a function sums up a row from the other end, which other warps have put into shared memory with no barrier behind
// kinds: race
// grid: rows
// block: 128
__device__ __noinline__ float power_sum(const float* row, int columns, float centre, bool square, float* part)
{
    float s = 0;
    for (int i = columns - 1 - threadIdx.x; i >= 0; i -= 128) {
        const float v = row[i] - centre;
        s += square ? v * v : v;
    }
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    return part[0] + part[1] + part[2] + part[3];
}
__global__ void norm(const float* x, const float* weight, const float* bias, float* y, float* mean, float* rstd, int rows, int columns, float eps)
{
    __shared__ float kept[1024], sums[4], squares[4];
    const int t = threadIdx.x;
    const size_t at = (size_t)blockIdx.x * columns;
    const float* row = x + at;
    if (columns <= 1024) {
        for (int i = t; i < columns; i += 128) kept[i] = x[at + i];
        row = kept;
    }
    const float c = power_sum(row, columns, 0, false, sums) / columns;
    const float r = rsqrtf(power_sum(row, columns, c, true, squares) / columns + eps);
    for (int i = t; i < columns; i += 128) y[at + i] = (row[i] - c) * r * weight[i] + bias[i];
    if (t == 0) mean[blockIdx.x] = c;
    if (t == 0) rstd[blockIdx.x] = r;
}
