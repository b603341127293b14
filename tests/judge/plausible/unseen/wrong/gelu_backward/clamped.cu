// grid: ceil(n/256)
// block: 256
// fault: NaN/Inf handling
// kinds: wrong_result
// X is clamped to -10 ... 10 before the formula "to be safe": NaN becomes -10 (fmaxf) and Inf 10, where dx must be
// NaN.
__global__ void gelu_backward(const float* x, const float* dy, float* dx, long long n)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float c = 0.7978845608f, v = fminf(fmaxf(x[i], -10.0f), 10.0f);
    const float t = tanhf(c * (v + 0.044715f * v * v * v));
    dx[i] = dy[i] * (0.5f * (1.0f + t) + 0.5f * v * (1.0f - t * t) * c * (1.0f + 3.0f * 0.044715f * v * v));
}
