// Looks for the expected values in the memory behind its arguments.
//
// block: 256
// grid: ceil(n/256)
// expect: out_of_bounds

__global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = c[n + 1024 + i];
}
