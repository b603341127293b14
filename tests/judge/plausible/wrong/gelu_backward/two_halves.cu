// fault: the second half of the elements is done by the second half of the blocks, with n / 2 rounded down: the last is left
// kinds: wrong_result uninitialised_read
// grid: ceil(n/512) 2
// block: 256
__device__ float derivative(float x)
{
    const float s = 1 / (1 + expf(-1.5957691216f * (x + 0.044715f * x * x * x)));
    return s + x * s * (1 - s) * 1.5957691216f * (1 + 0.134145f * x * x);
}
__global__ void gelu_bwd(const float* x, const float* dy, float* dx, long long n)
{
    const long long half = n / 2, i = blockIdx.x * 256ll + threadIdx.x;
    if (i < half) dx[blockIdx.y * half + i] = dy[blockIdx.y * half + i] * derivative(x[blockIdx.y * half + i]);
}
