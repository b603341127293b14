// entry: phases
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void phases(const float* x, float* y, int n)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    float v = 0.0f;
    for (int k = 0; k < 16; ++k) {
        v += x[k * n + i];
    }
    for (int k = 0; k < 480; ++k) {
        v = v * 0.99f + 0.01f;
    }
    y[i] = v;
}
