// Asks whether a file is there.
//
// block: 64
// grid: ceil(n/64)
// expect: compile_error

#if __has_include("/etc/passwd")
#error there
#endif
__global__ void k(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
