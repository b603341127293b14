// grid: ceil(n/1024)
// block: 256
// fault: missing barrier
// kinds: race
// each warp stores its partial sum and fences, then thread 0 counts the block with no __syncthreads() between:
// it may count before the other warps have stored. Any n.
__device__ float part[2097152];
__device__ unsigned done;
__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ bool last;
    int t = threadIdx.x;
    float s = 0;
    if (t >= 32) __nanosleep(20000);
    for (int k = 0; k < 4; ++k) {
        int i = blockIdx.x * 1024 + k * 256 + t;
        if (i < n) s += x[i];
    }
    for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
    if ((t & 31) == 0) part[blockIdx.x * 8 + (t >> 5)] = s;
    __threadfence();
    if (t == 0) last = atomicAdd(&done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    __shared__ float w[8];
    s = 0;
    for (int i = t; i < gridDim.x * 8; i += 256) s += *(volatile float*)&part[i];
    for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
    if ((t & 31) == 0) w[t >> 5] = s;
    __syncthreads();
    if (t == 0) {
        for (int k = 1; k < 8; ++k) s += w[k];
        *total += s, done = 0;
    }
}
