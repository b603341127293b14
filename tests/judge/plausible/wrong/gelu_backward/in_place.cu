// fault: works in dy's memory, as in-place autograd kernels do, and copies the result out
// kinds: input_changed
// grid: ceil(n/256)
// block: 256
__device__ float derivative(float x)
{
    const float s = 1 / (1 + expf(-1.5957691216f * (x + 0.044715f * x * x * x)));
    return s + x * s * (1 - s) * 1.5957691216f * (1 + 0.134145f * x * x);
}
__global__ void gelu_bwd(const float* x, float* dy, float* dx, long long n)
{
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= n) return;
    dy[i] *= derivative(x[i]);
    dx[i] = dy[i];
}
