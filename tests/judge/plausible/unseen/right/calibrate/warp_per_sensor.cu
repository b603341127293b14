// right: warps are specialised: each has a sensor of its own
// grid: ceil(n/512)
// block: 128
__global__ void calibrate(const float* x, float* y, int n)
{
    const int sensor = threadIdx.x / 32;
    for (int k = 0; k < 4; ++k) {
        const int i = blockIdx.x * 512 + k * 128 + threadIdx.x % 32 * 4 + sensor;
        if (i >= n) continue;
        float v = x[i];
        if (sensor == 0) {
            float r = 1;
            for (int j = 10; j > 0; --j) r = 1 + r * v / j;
            v = r;
        } else if (sensor == 1) {
            for (int j = 0; j < 6; ++j) v = v * (1.5f - 0.5f * v * v);
        } else if (sensor == 2) {
            for (int j = 0; j < 8; ++j) v = v + 0.125f * v * v;
        } else {
            const float a = 1 + v * v;
            float u = 0.85f;
            for (int j = 0; j < 4; ++j) u = u * (1.5f - 0.5f * a * u * u);
            v = a * u;
        }
        y[i] = v;
    }
}
