// One load with a stride: lane i of the grid reads element i * stride.
//
// entry: strided
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void strided(
    const float* x, float* y, int n, int stride)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i * stride];
}
