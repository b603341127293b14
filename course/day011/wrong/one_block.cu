// If the queue at the total is the trouble, then one block that adds up everything has no queue. The other blocks leave at
// once, the sum is right, and the total gets a single addition. It is also a single multiprocessor that works. The others,
// 131 of 132, look on.
//
// block: 256
// grid: ceil(n/256)
// expect: too_few at_the_total

extern "C" __global__ void sum(const float* x, float* total, int n)
{
    __shared__ float of_block;
    if (blockIdx.x > 0) return;
    const int t = threadIdx.x;
    if (t == 0) of_block = 0.0f;
    __syncthreads();
    float own = 0.0f;
    for (int i = t; i < n; i += 256) own += x[i];
    atomicAdd(&of_block, own);
    __syncthreads();
    if (t == 0) atomicAdd(total, of_block);
}
