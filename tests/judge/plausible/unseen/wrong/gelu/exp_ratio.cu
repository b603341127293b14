// grid: ceil(n/256)
// block: 256
// fault: overflow of exp
// kinds: wrong_result
// Tanh as (e^2u - 1) / (e^2u + 1): Inf / Inf is NaN where u > 44.
__global__ void gelu(const float* x, float* y, long long n)
{
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
        float v = x[i];
        float e = expf(2.0f * 0.7978845608f * (v + 0.044715f * v * v * v));
        y[i] = 0.5f * v * (1.0f + (e - 1.0f) / (e + 1.0f));
    }
}
