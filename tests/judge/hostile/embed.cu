// Embeds a file.
//
// block: 64
// grid: ceil(n/64)
// expect: compile_error

__device__ const char stolen[] = {
#embed "/etc/passwd"
};
__global__ void k(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
