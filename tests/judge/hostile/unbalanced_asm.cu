// Ends the kernel early in inline PTX and opens another.
//
// block: 64
// grid: ceil(n/64)
// expect: compile_error unsupported launch fault wrong_result

__global__ void k(const float* x, float* y, int n)
{
    asm volatile("ret;\n}\n.visible .entry other(.param .u64 p)\n{\n ret;");
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
