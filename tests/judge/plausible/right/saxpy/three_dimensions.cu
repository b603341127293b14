// grid: 2 3 2
// block: 4 2 12
// Blocks and grid in three dimensions, flattened by hand; grid-stride.
__global__ void saxpy3(int n, float a, const float* x, float* y)
{
    const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const int size = blockDim.x * blockDim.y * blockDim.z, all = size * gridDim.x * gridDim.y * gridDim.z;
    for (long long i = (long long)block * size + thread; i < n; i += all) y[i] = a * x[i] + y[i];
}
