// Every thread hands it on. After the barrier the sum of the block is there for all, and all have the line that adds it to the
// total. So it is added 256 times. Each of these additions is atomic, and none is lost.
//
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void sum(const float* x, float* total, int n)
{
    __shared__ float of_block;

    const int t = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + t;
    if (t == 0) of_block = 0.0f;
    __syncthreads();

    if (i < n) atomicAdd(&of_block, x[i]);
    __syncthreads();

    atomicAdd(total, of_block);
}
