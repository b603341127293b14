// grid: 1
// block: 32
// One warp walks over everything.
__global__ void saxpy_warp(int n, float a, const float* x, float* y)
{
    for (int i = threadIdx.x; i < n; i += 32) y[i] = fmaf(a, x[i], y[i]);
}
