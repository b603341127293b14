// Touches every page of a large variable.
//
// block: 64
// grid: 1
// expect: compile_error out_of_memory fault launch timeout

__device__ char pages[1536u << 20];
__global__ void k(const float* x, float* y, int n)
{
    for (size_t i = threadIdx.x * 4096ull; i < sizeof(pages); i += 64 * 4096ull) pages[i] = 1;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
