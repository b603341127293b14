// right: one warp walks over everything, backwards
// grid: 1
// block: 32
__global__ void saxpy(int n, float a, const float* __restrict__ x, float* y)
{
    for (int i = n - 1 - (int)threadIdx.x; i >= 0; i -= 32) y[i] = __fmaf_rn(a, x[i], y[i]);
}
