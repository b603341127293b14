// fault: four at a time where x and y allow; weight and bias begin elsewhere
// kinds: misaligned
// grid: rows
// block: 32
__global__ void norm(const float* x, const float* weight, const float* bias, float* y, float* mean, float* rstd, int rows, int columns, float eps)
{
    const size_t at = (size_t)blockIdx.x * columns;
    float s = 0, q = 0;
    for (int i = threadIdx.x; i < columns; i += 32) s += x[at + i];
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    const float c = s / columns;
    for (int i = threadIdx.x; i < columns; i += 32) q += (x[at + i] - c) * (x[at + i] - c);
    for (int k = 16; k; k >>= 1) q += __shfl_xor_sync(~0u, q, k);
    const float r = rsqrtf(q / columns + eps);
    if (columns % 4 == 0 && (((size_t)x | (size_t)y) & 15) == 0) {
        for (int v = threadIdx.x; v < columns / 4; v += 32) {
            const float4 a = ((const float4*)(x + at))[v], w = ((const float4*)weight)[v], b = ((const float4*)bias)[v];
            ((float4*)(y + at))[v] = make_float4((a.x - c) * r * w.x + b.x, (a.y - c) * r * w.y + b.y, (a.z - c) * r * w.z + b.z, (a.w - c) * r * w.w + b.w);
        }
    } else {
        for (int i = threadIdx.x; i < columns; i += 32) y[at + i] = (x[at + i] - c) * r * weight[i] + bias[i];
    }
    if (threadIdx.x == 0) mean[blockIdx.x] = c, rstd[blockIdx.x] = r;
}
