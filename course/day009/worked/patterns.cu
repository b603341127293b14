// Two ways of equal length; `period` and `taken` say which threads go the first.
//
// entry: patterns
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void patterns(
    const float* x, float* y, int n, int period, int taken)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    float v = x[i];
    if (i % period < taken) {
        for (int k = 0; k < 16; ++k) v = v * 0.5f + 1.0f;
    } else {
        for (int k = 0; k < 16; ++k) v = v * 0.25f - 1.0f;
    }
    y[i] = v;
}
