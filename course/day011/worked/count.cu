// Every thread adds 1 to a counter, as one atomic operation.
//
// entry: count
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void count(int* counter, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(counter, 1);
}
