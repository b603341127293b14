// grid: ceil(n/1024)
// block: 1024
// fault: more blocks than threads
// kinds: wrong_result
// the last block looks at one partial result per thread, so at 1,024 of them: above 2^20 elements the others are
// left out (timed n: 268,435,456 with 262,144 blocks).
__device__ unsigned long long part[262144];
__device__ unsigned done;
__device__ unsigned long long key(float x, unsigned i)
{
    unsigned u = __float_as_uint(x);
    if (x != x) u = 0xffffffffu;
    else if (x == 0.0f) u = 0x80000000u;
    else u = (u >> 31) ? ~u : u | 0x80000000u;
    return (unsigned long long)u << 32 | (0xffffffffu - i);
}
__device__ unsigned long long block_max(unsigned long long k)
{
    __shared__ unsigned long long s[32];
    for (int d = 16; d; d >>= 1) k = max(k, __shfl_xor_sync(0xffffffffu, k, d));
    __syncthreads();
    if ((threadIdx.x & 31) == 0) s[threadIdx.x >> 5] = k;
    __syncthreads();
    k = s[threadIdx.x & 31];
    for (int d = 16; d; d >>= 1) k = max(k, __shfl_xor_sync(0xffffffffu, k, d));
    return k;
}
__global__ void argmax(const float* x, long long* best, int n)
{
    __shared__ bool last;
    unsigned i = blockIdx.x * 1024u + threadIdx.x;
    unsigned long long k = block_max(i < (unsigned)n ? key(x[i], i) : 0ull);
    if (threadIdx.x == 0) {
        part[blockIdx.x] = k;
        __threadfence();
        last = atomicAdd(&done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    k = block_max(threadIdx.x < gridDim.x ? *(volatile unsigned long long*)&part[threadIdx.x] : 0ull);
    if (threadIdx.x == 0) *best = 0xffffffffu - (unsigned)k, done = 0;
}
