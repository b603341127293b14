// Not zeroed. A float in shared memory is declared like any other, and globals of C begin with 0. This one begins with what
// the block before has left there, which may be 0 for a long time.
//
// block: 256
// grid: ceil(n/256)
// expect: uninitialised_read

extern "C" __global__ void sum(const float* x, float* total, int n)
{
    __shared__ float of_block;

    const int t = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + t;
    if (i < n) atomicAdd(&of_block, x[i]);  // <- here
    __syncthreads();

    if (t == 0) atomicAdd(total, of_block);
}
