// Every thread adds its element to the total: one atomic operation for each.
//
// entry: each
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void each(const float* x, float* total, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total, x[i]);
}
