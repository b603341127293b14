// grid: ceil(n/256)
// block: 256
// fault: race
// kinds: race
// No barrier between thread 0's sum = 0 and the other threads' atomicAdd to it: a race in shared memory (n > 32, or whenever another thread adds).

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float sum;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) sum = 0.0f;
    if (i < n) atomicAdd(&sum, x[i]);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(total, sum);
}
