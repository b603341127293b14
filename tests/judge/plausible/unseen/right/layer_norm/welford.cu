// right: Welford with true counts, a warp for each row
// grid: ceil(rows/8)
// block: 256
__global__ void layer_norm(const float* x, const float* weight, const float* bias, float* y, float* mean, float* rstd, int rows, int columns, float eps)
{
    const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float* in = x + (size_t)row * columns;
    float m = 0, m2 = 0, count = 0;
    for (int c = lane; c < columns; c += 32) {
        count += 1;
        const float d = in[c] - m;
        m += d / count;
        m2 += d * (in[c] - m);
    }
    for (int o = 16; o; o >>= 1) {
        const float om = __shfl_xor_sync(~0u, m, o), om2 = __shfl_xor_sync(~0u, m2, o), oc = __shfl_xor_sync(~0u, count, o);
        const float all = count + oc;
        if (all > 0) {
            const float d = om - m;
            m += d * oc / all;
            m2 += om2 + d * d * count * oc / all;
        }
        count = all;
    }
    m = __shfl_sync(~0u, m, 0);
    const float r = rsqrtf(__shfl_sync(~0u, m2, 0) / columns + eps);
    for (int c = lane; c < columns; c += 32) y[(size_t)row * columns + c] = (in[c] - m) * r * weight[c] + bias[c];
    if (lane == 0) {
        mean[row] = m;
        rstd[row] = r;
    }
}
