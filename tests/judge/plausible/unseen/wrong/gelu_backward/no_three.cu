// grid: ceil(n/256)
// block: 256
// fault: wrong formula
// kinds: wrong_result
// U' = c (1 + 0.044715 x^2): the 3 of the cube's derivative is missing.
__global__ void gelu_backward(const float* x, const float* dy, float* dx, long long n)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float c = 0.7978845608f, v = x[i];
    const float t = tanhf(c * (v + 0.044715f * v * v * v));
    dx[i] = dy[i] * (0.5f * (1.0f + t) + 0.5f * v * (1.0f - t * t) * c * (1.0f + 0.044715f * v * v));
}
