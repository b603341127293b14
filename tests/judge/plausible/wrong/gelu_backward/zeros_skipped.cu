// fault: a dy of 0 gives 0, also where x is Inf or NaN and 0 times the derivative is NaN
// kinds: wrong_result uninitialised_read
// grid: ceil(n/128)
// block: 128
__device__ float derivative(float x)
{
    const float s = 1 / (1 + expf(-1.5957691216f * (x + 0.044715f * x * x * x)));
    return s + x * s * (1 - s) * 1.5957691216f * (1 + 0.134145f * x * x);
}
__global__ void gelu_bwd(const float* x, const float* dy, float* dx, long long n)
{
    long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= n) return;
    if (dy[i] == 0.0f) dx[i] = 0.0f;
    else dx[i] = dy[i] * derivative(x[i]);
}
