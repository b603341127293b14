// Jumps to a label that is not there.
//
// block: 64
// grid: ceil(n/64)
// expect: compile_error unsupported launch fault

__global__ void k(const float* x, float* y, int n)
{
    asm volatile("bra nowhere_at_all;");
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
