// right: a warp for each channel
// grid: ceil(n/128)
// block: 32 4

__device__ float curve(int channel, float v)
{
    if (channel == 0) {
        float s = 1;
        for (int k = 10; k > 0; --k) s = 1 + v * s / k;
        return s;
    }
    if (channel == 1) {
        for (int k = 0; k < 6; ++k) v = v * (1.5f - 0.5f * v * v);
        return v;
    }
    if (channel == 2) {
        for (int k = 0; k < 8; ++k) v = v + 0.125f * v * v;
        return v;
    }
    float w = 1 + v * v, u = 0.85f;
    for (int k = 0; k < 4; ++k) u = u * (1.5f - 0.5f * w * u * u);
    return w * u;
}

__global__ void calibrate(const float* x, float* y, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x * 4 + threadIdx.y;
    if (i < n) y[i] = curve(threadIdx.y, x[i]);
}
