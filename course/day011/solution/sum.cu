// total += x[0] + … + x[n - 1]: a block adds up in a word of its own, and once to the total.
//
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void sum(const float* x, float* total, int n)
{
    __shared__ float of_block;

    const int t = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + t;
    if (t == 0) of_block = 0.0f;
    __syncthreads();  // nobody adds before it is 0

    if (i < n) atomicAdd(&of_block, x[i]);
    __syncthreads();  // nobody reads it before all have added

    if (t == 0) atomicAdd(total, of_block);
}
