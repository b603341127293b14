// As many blocks as a grid can have.
//
// block: 64
// grid: 2147483647
// expect: timeout

__global__ void k(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
