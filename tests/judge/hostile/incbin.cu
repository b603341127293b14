// Has the assembler include a file.
//
// block: 64
// grid: ceil(n/64)
// expect: compile_error unsupported launch fault

__global__ void k(const float* x, float* y, int n)
{
    asm volatile(".include \"/etc/passwd\"");
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
