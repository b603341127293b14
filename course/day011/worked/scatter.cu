// Every thread adds its element to a total of its own: as many atomic operations, none at the address of another.
//
// entry: scatter
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void scatter(const float* x, float* totals, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&totals[i], x[i]);
}
