// The same work without a trick.
//
// entry: add
// block: 256
// grid: 1024
// expect: nothing

__global__ void add(const float* a, const float* b, float* c, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c[i] = a[i] + b[i];
}
