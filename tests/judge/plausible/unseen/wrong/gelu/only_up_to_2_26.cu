// A guard against absurd sizes: nothing is done above 2^26 elements.
// Wrong for n = 2^26 + 1: y is not written.
// grid: ceil(n/256)
// block: 256
// fault: only up to 2 26
// kinds: wrong_result
__global__ void gelu(const float* x, float* y, long long n)
{
    if (n > (1ll << 26)) return;
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = x[i], u = 0.7978845608028654f * (v + 0.044715f * v * v * v);
    y[i] = 0.5f * v * (1.0f + tanhf(u));
}
