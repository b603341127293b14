// The same two ways, written as one way with two constants.
//
// entry: constants
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void constants(const float* x, float* y, int n, int period, int taken)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    const bool first = i % period < taken;
    const float factor = first ? 0.5f : 0.25f, term = first ? 1.0f : -1.0f;
    float v = x[i];
    for (int k = 0; k < 16; ++k) v = v * factor + term;
    y[i] = v;
}
