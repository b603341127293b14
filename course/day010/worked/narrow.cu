// One warp for a block.
//
// entry: narrow
// block: 32
// grid: ceil(n/32)

extern "C" __global__ void narrow(const float* x, float* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
