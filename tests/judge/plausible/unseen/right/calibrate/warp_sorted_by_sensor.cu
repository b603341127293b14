// Samples go through shared memory so that each warp has one sensor's samples; switch over the warp.
// grid: max(1, ceil(n/512))
// block: 128
__global__ void calibrate(const float* x, float* y, int n)
{
    __shared__ float s[4][129];
    const long long first = (long long)blockIdx.x * 512;
    const int t = threadIdx.x;
    for (int k = t; k < 512; k += 128) if (first + k < n) s[k % 4][k / 4] = x[first + k];
    __syncthreads();
    const int sensor = t / 32;
    for (int j = t % 32; j < 128; j += 32) {
        if (first + 4 * j + sensor >= n) continue;
        float v = s[sensor][j];
        switch (sensor) {
            case 0: { float r = 1.0f; for (int k = 10; k > 0; --k) r = 1.0f + r * v / k; v = r; break; }
            case 1: for (int k = 0; k < 6; ++k) v = v * (1.5f - 0.5f * v * v); break;
            case 2: for (int k = 0; k < 8; ++k) v = v + 0.125f * v * v; break;
            default: { const float q = 1.0f + v * v; float u = 0.85f; for (int k = 0; k < 4; ++k) u = u * (1.5f - 0.5f * q * u * u); v = q * u; }
        }
        s[sensor][j] = v;
    }
    __syncthreads();
    for (int k = t; k < 512; k += 128) if (first + k < n) y[first + k] = s[k % 4][k / 4];
}
