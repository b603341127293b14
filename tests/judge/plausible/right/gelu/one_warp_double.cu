// grid: 1
// block: 32
// One warp, float64 inside.
__global__ void gelu(const float* x, float* y, long long n)
{
    for (long long i = threadIdx.x; i < n; i += 32) {
        const double v = x[i];
        y[i] = float(0.5 * v * (1 + tanh(0.79788456080286535588 * (v + 0.044715 * v * v * v))));
    }
}
