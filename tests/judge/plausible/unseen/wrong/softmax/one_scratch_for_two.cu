// grid: rows
// block: 256
// fault: missing barrier
// kinds: race
// The scratch of the maximum is used again for the sum while warps may still read it.
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    __shared__ float s[8];
    const float* in = x + (size_t)blockIdx.x * columns;
    float m = -INFINITY;
    for (int c = threadIdx.x; c < columns; c += 256) m = fmaxf(m, in[c]);
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = m;
    __syncthreads();
    for (int w = 0; w < 8; ++w) m = fmaxf(m, s[w]);
    float sum = 0;
    for (int c = threadIdx.x; c < columns; c += 256) sum += expf(in[c] - m);
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int w = 0; w < 8; ++w) sum += s[w];
    for (int c = threadIdx.x; c < columns; c += 256) y[(size_t)blockIdx.x * columns + c] = expf(in[c] - m) / sum;
}
