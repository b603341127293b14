// One thread adds. "Only thread 0 writes to the total, so that nobody is in its way." There is a thread 0 in every block. With
// one block the sum is right, and with any number of them most of the blocks are lost.
//
// block: 256
// grid: ceil(n/256)
// expect: race

extern "C" __global__ void sum(const float* x, float* total, int n)
{
    __shared__ float of_block;

    const int t = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + t;
    if (t == 0) of_block = 0.0f;
    __syncthreads();

    if (i < n) atomicAdd(&of_block, x[i]);
    __syncthreads();

    if (t == 0) *total += of_block;  // <- here
}
