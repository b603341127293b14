// Grid too small: n / 256 rounds down, so the elements after the last full block get no thread.
//
// entry: add_grid_too_small
// block: 256
// grid: max(n//256, 1)
// expect: wrong_result never_written

extern "C" __global__ void add_grid_too_small(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
