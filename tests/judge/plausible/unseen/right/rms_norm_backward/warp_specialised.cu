// Two kinds of warps in a block, which meet at named barriers: one makes the sums of a row, three apply them.
// grid: parts
// block: 128
__device__ __forceinline__ void meet(int id) { asm volatile("bar.sync %0, 128;" ::"r"(id) : "memory"); }
__global__ void rms_norm_backward(const float* x, const float* weight, const float* dy, float* dx, float* partial,
                                  int rows, int columns, int parts, float eps)
{
    __shared__ float scale_s[2], mean_s[2];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, t = threadIdx.x - 32;
    if (warp > 0) for (int i = t; i < columns; i += 96) partial[(size_t)blockIdx.x * columns + i] = 0.0f;
    int k = 0;
    for (int row = blockIdx.x; row < rows; row += parts, k ^= 1) {
        const float *px = x + (size_t)row * columns, *pd = dy + (size_t)row * columns;
        if (warp == 0) {
            float q = 0.0f;
            for (int i = lane; i < columns; i += 32) q += px[i] * px[i];
            for (int o = 16; o; o /= 2) q += __shfl_xor_sync(~0u, q, o);
            const float r = 1.0f / sqrtf(q / columns + eps);
            float p = 0.0f;
            for (int i = lane; i < columns; i += 32) p += pd[i] * weight[i] * (px[i] * r);
            for (int o = 16; o; o /= 2) p += __shfl_xor_sync(~0u, p, o);
            if (lane == 0) { scale_s[k] = r; mean_s[k] = p / columns; }
        }
        meet(1 + k);
        if (warp > 0) {
            const float r = scale_s[k], m = mean_s[k];
            for (int i = t; i < columns; i += 96) {
                const float n = px[i] * r;
                dx[(size_t)row * columns + i] = r * (pd[i] * weight[i] - n * m);
                partial[(size_t)blockIdx.x * columns + i] += pd[i] * n;
            }
        }
    }
}
