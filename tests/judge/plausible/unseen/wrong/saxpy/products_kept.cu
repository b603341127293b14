// grid: ceil(n/256)
// block: 256
// fault: fixed cache
// kinds: out_of_bounds
// Products go through a device array of 32,768: more elements than that are out of its bounds.

__device__ float products[32768];

__device__ __noinline__ void multiply(int n, float a, const float* x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) products[i] = a * x[i];
}

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    multiply(n, a, x);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += products[i];
}
