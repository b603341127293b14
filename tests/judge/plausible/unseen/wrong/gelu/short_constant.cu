// grid: ceil(n/256)
// block: 256
// fault: numerics: constant
// kinds: wrong_result
// Sqrt(2/pi) as 0.7979: 2e-5 off.
__global__ void gelu(const float* x, float* y, long long n)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    y[i] = 0.5f * v * (1.0f + tanhf(0.7979f * (v + 0.044715f * v * v * v)));
}
