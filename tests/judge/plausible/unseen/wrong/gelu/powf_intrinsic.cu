// grid: ceil(n/256)
// block: 256
// fault: fast-math
// kinds: wrong_result
// __powf(x, 3) is exp2(3 log2(x)): NaN for every negative x.
__global__ void gelu(const float* x, float* y, long long n)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * __powf(v, 3.0f))));
}
