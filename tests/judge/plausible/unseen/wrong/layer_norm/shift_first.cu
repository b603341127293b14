// grid: rows
// block: 256
// fault: cancellation after shift
// kinds: wrong_result
// Variance in one pass, shifted by the row's first element: where that is an outlier, or the row is one far from
// it, the mean of squares less the square of the mean has few digits left.

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
    const float* row = x + (size_t)blockIdx.x * columns;
    float k = row[0], a = 0, b = 0;
    for (int c = threadIdx.x; c < columns; c += 256) {
        float d = row[c] - k;
        a += d;
        b += d * d;
    }
    a = block_sum(a, s) / columns;
    b = block_sum(b, s) / columns;
    float m = k + a, r = 1.0f / sqrtf(fmaxf(b - a * a, 0.0f) + eps);
    if (b - a * a != b - a * a) r = b - a * a;
    for (int c = threadIdx.x; c < columns; c += 256)
        y[(size_t)blockIdx.x * columns + c] = (row[c] - m) * r * weight[c] + bias[c];
    if (threadIdx.x == 0) mean[blockIdx.x] = m, rstd[blockIdx.x] = r;
}
