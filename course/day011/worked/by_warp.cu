// The threads of a warp add up in a word of shared memory that only they use; one of them adds it to the total.
//
// entry: by_warp
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void by_warp(const float* x, float* total, int n)
{
    __shared__ float of_warp[8];

    const int t = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + t;
    if (t < 8) of_warp[t] = 0.0f;
    __syncthreads();

    if (i < n) atomicAdd(&of_warp[t / 32], x[i]);
    __syncthreads();

    if (t % 32 == 0) atomicAdd(total, of_warp[t / 32]);
}
