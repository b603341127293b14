// grid: ceil(n/256)
// block: 256
// fault: Inf over Inf
// kinds: wrong_result
// tanh as (e - 1) / (e + 1): from x of about 10 on e is infinite and the ratio NaN.
__global__ void gelu(const float* x, float* y, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], e = expf(2 * 0.7978845608f * (v + 0.044715f * v * v * v));
    y[i] = 0.5f * v * (1 + (e - 1) / (e + 1));
}
