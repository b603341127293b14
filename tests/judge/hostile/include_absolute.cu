// Reads a file of the system through an include.
//
// block: 64
// grid: ceil(n/64)
// expect: compile_error

#include "/etc/passwd"
__global__ void k(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
