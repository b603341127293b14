// grid: rows
// block: 256
// fault: numerics: first value of a maximum
// kinds: wrong_result
// The maximum begins at -1e30 instead of -Inf: rows whose elements are all below give 0 / 0.
__device__ float block_reduce(float v, bool maximum)
{
    __shared__ float s[8];
    for (int o = 16; o; o >>= 1) {
        const float t = __shfl_xor_sync(~0u, v, o);
        v = maximum ? fmaxf(v, t) : v + t;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    v = s[0];
    for (int w = 1; w < 8; ++w) v = maximum ? fmaxf(v, s[w]) : v + s[w];
    return v;
}

__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    const float* in = x + (size_t)blockIdx.x * columns;
    float m = -1e30f;
    for (int c = threadIdx.x; c < columns; c += 256) m = fmaxf(m, in[c]);
    m = block_reduce(m, true);
    float sum = 0;
    for (int c = threadIdx.x; c < columns; c += 256) sum += expf(in[c] - m);
    sum = block_reduce(sum, false);
    for (int c = threadIdx.x; c < columns; c += 256) y[(size_t)blockIdx.x * columns + c] = expf(in[c] - m) / sum;
}
