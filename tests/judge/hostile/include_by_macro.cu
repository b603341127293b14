// Hides the file's name behind a macro.
//
// block: 64
// grid: ceil(n/64)
// expect: compile_error

#define FILE_NAME "/etc/passwd"
#include FILE_NAME
__global__ void k(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
