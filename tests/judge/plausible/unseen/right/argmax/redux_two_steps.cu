// redux.sync over ordered keys first, then over the indices of those that have the best key; the last block is found by atomicInc, which wraps by itself.
// grid: min(max(1, ceil(n/2048)), 2*SMS)
// block: 256
__device__ uint2 found[4096];
__device__ unsigned int finished;
__device__ __forceinline__ unsigned int key_of(float x)
{
    if (isnan(x)) return 0xffffffffu;
    const unsigned int b = __float_as_uint(x == 0.0f ? 0.0f : x);
    return b ^ ((unsigned int)((int)b >> 31) | 0x80000000u);
}
__device__ __forceinline__ uint2 best_of_warp(uint2 k)
{
    const unsigned int most = __reduce_max_sync(~0u, k.x);
    return make_uint2(most, __reduce_min_sync(~0u, k.x == most ? k.y : 0xffffffffu));
}
__device__ uint2 best_of_block(uint2 k)
{
    __shared__ uint2 w[8];
    k = best_of_warp(k);
    __syncthreads();
    if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = k;
    __syncthreads();
    return best_of_warp(w[threadIdx.x % 8]);
}
__global__ void argmax(const float* x, long long* best, int n)
{
    __shared__ bool last;
    uint2 mine = make_uint2(0, 0xffffffffu);
    for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < n; i += (long long)gridDim.x * 256) {
        const unsigned int k = key_of(x[i]);
        if (k > mine.x) mine = make_uint2(k, (unsigned int)i);
    }
    mine = best_of_block(mine);
    if (threadIdx.x == 0) {
        found[blockIdx.x] = mine;
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    mine = make_uint2(0, 0xffffffffu);
    for (unsigned int b = threadIdx.x; b < gridDim.x; b += 256) {
        const uint2 o = __ldcg(&found[b]);
        if (o.x > mine.x || (o.x == mine.x && o.y < mine.y)) mine = o;
    }
    mine = best_of_block(mine);
    if (threadIdx.x == 0) *best = mine.y;
}
