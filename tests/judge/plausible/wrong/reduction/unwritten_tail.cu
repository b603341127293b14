// grid: ceil(n/256)
// block: 256
// fault: uninitialised shared
// kinds: uninitialised_read wrong_result
// Threads behind n put nothing into shared memory, and the tree adds up what is there.
__global__ void block_sum(const float* x, float* total, int n)
{
    __shared__ float cache[256];
    int tid = threadIdx.x, gid = blockIdx.x * blockDim.x + tid;
    if (gid < n) cache[tid] = x[gid];
    __syncthreads();
    for (int half = 128; half > 0; half >>= 1) {
        if (tid < half) cache[tid] += cache[tid + half];
        __syncthreads();
    }
    if (tid == 0) atomicAdd(total, cache[0]);
}
