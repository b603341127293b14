// A block of a million threads.
//
// block: 1000000
// grid: ceil(n/64)
// expect: launch

__global__ void k(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
