// grid: ceil(n/256)
// block: 256
// fault: non-coherent read
// kinds: non_coherent_read
// The last block adds up the others' sums, behind a fence and a ticket as it must, but through the read-only cache.
__device__ float sums[1 << 20];
__device__ unsigned arrived;
__global__ void reduce(const float* x, float* total, int n)
{
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    float v = i < n ? x[i] : 0.f;
    __shared__ float w[8];
    __shared__ bool last;
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (t % 32 == 0) w[t / 32] = v;
    __syncthreads();
    if (t == 0) {
        for (int k = 1; k < 8; k++) v += w[k];
        sums[blockIdx.x] = v;
        __threadfence();
        last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    v = 0;
    for (int k = t; k < gridDim.x; k += 256) v += __ldg(sums + k);
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (t % 32 == 0) atomicAdd(total, v);
}
