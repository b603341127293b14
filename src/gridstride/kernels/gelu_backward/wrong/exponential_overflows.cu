// Exponential overflows: e^2u over itself plus 1 is Inf / Inf from x = 10 on.
//
// entry: gelu_backward_exponential_overflows
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void gelu_backward_exponential_overflows(const float* x, const float* dy, float* dx, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float a = x[i], e = expf(2.0f * 0.7978845608f * (a + 0.044715f * a * a * a)), s = e / (e + 1.0f);
    dx[i] = dy[i] * (s + a * s * (1.0f - s) * 2.0f * 0.7978845608f * (1.0f + 3.0f * 0.044715f * a * a));
}
