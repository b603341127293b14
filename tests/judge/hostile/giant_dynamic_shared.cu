// More shared memory than a chip has, in the launch.
//
// block: 64
// grid: ceil(n/64)
// shared: 1073741824
// expect: launch

__global__ void k(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
