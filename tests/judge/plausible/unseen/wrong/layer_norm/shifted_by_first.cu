// grid: rows
// block: 256
// fault: numerics: variance
// kinds: wrong_result
// Mean of squares less square of the mean, shifted by the row's first element; where that is itself far from the
// others, digits are lost as without the shift.
__device__ float block_sum(float v)
{
    __shared__ float s[8];
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    __syncthreads();
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
    for (int w = 0; w < 8; ++w) v += s[w];
    return v;
}

__global__ void layer_norm(const float* x, const float* weight, const float* bias, float* y, float* mean, float* rstd, int rows, int columns, float eps)
{
    const float* in = x + (size_t)blockIdx.x * columns;
    const float shift = in[0];
    float s = 0, q = 0;
    for (int c = threadIdx.x; c < columns; c += 256) {
        const float d = in[c] - shift;
        s += d;
        q += d * d;
    }
    s = block_sum(s) / columns;
    q = block_sum(q) / columns;
    float variance = q - s * s;
    if (variance < 0) variance = 0;
    const float r = rsqrtf(variance + eps), m = shift + s;
    for (int c = threadIdx.x; c < columns; c += 256) y[(size_t)blockIdx.x * columns + c] = (in[c] - m) * r * weight[c] + bias[c];
    if (threadIdx.x == 0) {
        mean[blockIdx.x] = m;
        rstd[blockIdx.x] = r;
    }
}
