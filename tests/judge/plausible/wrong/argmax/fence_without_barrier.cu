// grid: min(ceil(n/1024), 512)
// block: 256
// fault: missing barrier
// kinds: race
// each warp stores its best and fences; thread 0 counts the block before the other warps have come so far.
__device__ unsigned long long part[4096];
__device__ unsigned done;
__device__ unsigned long long key(float x, unsigned i)
{
    unsigned u = __float_as_uint(x);
    u = x != x ? 0xffffffffu : x == 0.0f ? 0x80000000u : (u >> 31) ? ~u : u | 0x80000000u;
    return (unsigned long long)u << 32 | (0xffffffffu - i);
}
__global__ void argmax(const float* x, long long* best, int n)
{
    __shared__ bool last;
    __shared__ unsigned long long s[8];
    int t = threadIdx.x;
    unsigned long long k = 0;
    for (unsigned i = blockIdx.x * 256u + t; i < (unsigned)n; i += 256u * gridDim.x) k = max(k, key(x[i], i));
    for (int d = 16; d; d >>= 1) k = max(k, __shfl_xor_sync(0xffffffffu, k, d));
    if ((t & 31) == 0) {
        part[blockIdx.x * 8 + (t >> 5)] = k;
        __threadfence();
    }
    if (t == 0) last = atomicAdd(&done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    k = 0;
    for (int b = t; b < gridDim.x * 8; b += 256) k = max(k, *(volatile unsigned long long*)&part[b]);
    for (int d = 16; d; d >>= 1) k = max(k, __shfl_xor_sync(0xffffffffu, k, d));
    if ((t & 31) == 0) s[t >> 5] = k;
    __syncthreads();
    if (t) return;
    for (int w = 0; w < 8; ++w) k = max(k, s[w]);
    *best = 0xffffffffu - (unsigned)k, done = 0;
}
