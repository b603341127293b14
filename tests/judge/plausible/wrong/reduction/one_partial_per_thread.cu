// grid: ceil(n/4096)
// block: 1024
// fault: more blocks than threads
// kinds: wrong_result
// the last block adds one partial sum per thread: above 1,024 blocks (n > 4,194,304) the others are left out.
__device__ float part[65536];
__device__ unsigned done;
__device__ float block_sum(float s)
{
    __shared__ float w[32];
    for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) w[threadIdx.x >> 5] = s;
    __syncthreads();
    s = w[threadIdx.x & 31];
    for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
    return s;
}
__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ bool last;
    float s = 0;
    for (int k = 0; k < 4; ++k) {
        int i = blockIdx.x * 4096 + k * 1024 + threadIdx.x;
        if (i < n) s += x[i];
    }
    s = block_sum(s);
    if (threadIdx.x == 0) {
        part[blockIdx.x] = s;
        __threadfence();
        last = atomicAdd(&done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    s = block_sum(threadIdx.x < gridDim.x ? *(volatile float*)&part[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) *total += s, done = 0;
}
