// grid: 1024 4
// block: 256
// fault: fixed grid, timed size
// kinds: wrong_result
// 1,024 × 4 blocks of 256: 1,048,576 of the timed 67,108,864 samples.
__global__ void calibrate(const float* x, float* y, int n)
{
    int i = (blockIdx.y * gridDim.x + blockIdx.x) * 256 + threadIdx.x;
    if (i >= n) return;
    float v = x[i], r;
    switch (i & 3) {
    case 0:
        r = 1;
        for (int k = 10; k > 0; --k) r = 1 + r * v / k;
        break;
    case 1:
        r = v;
        for (int k = 0; k < 6; ++k) r = r * (1.5f - 0.5f * r * r);
        break;
    case 2:
        r = v;
        for (int k = 0; k < 8; ++k) r = r + 0.125f * r * r;
        break;
    default:
        r = 0.85f;
        for (int k = 0; k < 4; ++k) r = r * (1.5f - 0.5f * (1 + v * v) * r * r);
        r = (1 + v * v) * r;
    }
    y[i] = r;
}
