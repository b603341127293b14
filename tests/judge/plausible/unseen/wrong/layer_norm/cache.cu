// grid: rows
// block: 256
// fault: fixed-size cache
// kinds: out_of_bounds
// The row is kept in 40 KiB of shared memory: 10240 numbers, and rows may have 70,000.

__device__ float block_sum(float v, float* s)
{
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
    for (int k = 0; k < blockDim.x / 32; ++k) v += s[k];
    return v;
}

__global__ void layer_norm(const float* x, const float* weight, const float* bias, float* y, float* mean, float* rstd, int rows, int columns, float eps)
{
    __shared__ float s[8];
    __shared__ float cache[10240];
    const float* row = x + (size_t)blockIdx.x * columns;
    float a = 0, b = 0;
    for (int c = threadIdx.x; c < columns; c += 256) a += cache[c] = row[c];
    float m = block_sum(a, s) / columns;
    for (int c = threadIdx.x; c < columns; c += 256) b += (cache[c] - m) * (cache[c] - m);
    float r = 1.0f / sqrtf(block_sum(b, s) / columns + eps);
    for (int c = threadIdx.x; c < columns; c += 256)
        y[(size_t)blockIdx.x * columns + c] = (cache[c] - m) * r * weight[c] + bias[c];
    if (threadIdx.x == 0) mean[blockIdx.x] = m, rstd[blockIdx.x] = r;
}
