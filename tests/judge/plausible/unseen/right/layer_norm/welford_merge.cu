// Welford's running mean and squares per thread, merged by Chan's formula over lanes and warps.
// grid: min(max(1, rows), 16*SMS)
// block: 256
struct Moments {
    float n, mean, m2;
    __device__ void put(float x) { n += 1.0f; const float d = x - mean; mean += d / n; m2 += d * (x - mean); }
};
__device__ Moments merge(Moments a, Moments b)
{
    const float n = a.n + b.n;
    if (b.n == 0.0f) return a;
    if (a.n == 0.0f) return b;
    const float d = b.mean - a.mean;
    return {n, a.mean + d * (b.n / n), a.m2 + b.m2 + d * d * (a.n * (b.n / n))};
}
__global__ void layer_norm(const float* x, const float* weight, const float* bias, float* y, float* mean, float* rstd,
                           int rows, int columns, float eps)
{
    __shared__ Moments w[8];
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const float* from = x + (size_t)row * columns;
        Moments m{0.0f, 0.0f, 0.0f};
        for (int i = threadIdx.x; i < columns; i += 256) m.put(from[i]);
        for (int o = 1; o < 32; o *= 2)
            m = merge(m, Moments{__shfl_down_sync(~0u, m.n, o), __shfl_down_sync(~0u, m.mean, o), __shfl_down_sync(~0u, m.m2, o)});
        __syncthreads();
        if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = m;
        __syncthreads();
        m = w[0];
        for (int k = 1; k < 8; ++k) m = merge(m, w[k]);
        const float r = 1.0f / sqrtf(m.m2 / columns + eps);
        for (int i = threadIdx.x; i < columns; i += 256) y[(size_t)row * columns + i] = (from[i] - m.mean) * r * weight[i] + bias[i];
        if (threadIdx.x == 0) { mean[row] = m.mean; rstd[row] = r; }
    }
}
