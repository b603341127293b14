// fault: shifted by 1,000 before the squares are multiplied out: rows about 0 keep three digits
// kinds: wrong_result
// grid: rows
// block: 32
__global__ void norm(const float* x, const float* weight, const float* bias, float* y, float* mean, float* rstd, int rows, int columns, float eps)
{
    const size_t at = (size_t)blockIdx.x * columns;
    const float shift = 1000.0f;
    float s = 0, q = 0;
    for (int i = threadIdx.x; i < columns; i += 32) {
        const float d = x[at + i] - shift;
        s += d;
        q += d * d;
    }
    for (int k = 16; k; k >>= 1) {
        s += __shfl_xor_sync(~0u, s, k);
        q += __shfl_xor_sync(~0u, q, k);
    }
    const float c = s / columns, r = rsqrtf(fmaxf(q / columns - c * c, 0.0f) + eps);
    for (int i = threadIdx.x; i < columns; i += 32) y[at + i] = (x[at + i] - shift - c) * r * weight[i] + bias[i];
    if (threadIdx.x == 0) mean[blockIdx.x] = shift + c, rstd[blockIdx.x] = r;
}
