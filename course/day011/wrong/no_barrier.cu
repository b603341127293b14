// No barrier before the end. Atomic operations let nobody in between, and that sounds as if they waited for each other. They
// do not. Thread 0 hands on what has been added by then, and other warps add to it afterwards.
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

    if (i < n) atomicAdd(&of_block, x[i]);  // <- here
    if (t == 0) atomicAdd(total, of_block);  // <- here
}
