// More memory than there is.
//
// block: 64
// grid: ceil(n/64)
// expect: compile_error fault launch

__device__ char heap[1ull << 40];
__global__ void k(const float* x, float* y, int n)
{
    heap[threadIdx.x] = 1;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
