// grid: ceil(n/1024) 2 1
// block: 8 8 8
//
// Blocks of three dimensions, two of them side by side in y.

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    const unsigned t = threadIdx.x + 8 * (threadIdx.y + 8 * threadIdx.z);
    const unsigned i = (blockIdx.x * 2 + blockIdx.y) * 512 + t;
    if (i < (unsigned)n) y[i] = fmaf(a, x[i], y[i]);
}
