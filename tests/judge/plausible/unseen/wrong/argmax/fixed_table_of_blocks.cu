// Each block leaves its best in a table of 1024 entries, and the last block compares them.
// Wrong for n > 524,288: a grid of more than 1024 blocks writes beyond the table.
// grid: ceil(n/512)
// block: 512
// fault: fixed table of blocks
// kinds: out_of_bounds
__device__ unsigned long long table[1024];
__device__ unsigned int finished;
__device__ unsigned long long best_of(unsigned long long k)
{
    __shared__ unsigned long long w[16];
    for (int o = 16; o; o /= 2) { unsigned long long b = __shfl_xor_sync(0xffffffffu, k, o); k = b > k ? b : k; }
    if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = k;
    __syncthreads();
    for (int j = 0; j < 16; ++j) k = w[j] > k ? w[j] : k;
    __syncthreads();
    return k;
}
__global__ void argmax(const float* x, long long* best, int n)
{
    __shared__ bool last;
    unsigned long long k = 0;
    int i = blockIdx.x * 512 + threadIdx.x;
    if (i < n) {
        float v = x[i] + 0.0f;
        unsigned int bits = __float_as_uint(v);
        unsigned int order = v != v ? 0xffffffffu : (bits >> 31 ? ~bits : bits | 0x80000000u);
        k = (unsigned long long)order << 32 | (0xffffffffu - (unsigned int)i);
    }
    k = best_of(k);
    if (threadIdx.x == 0) {
        table[blockIdx.x] = k;
        __threadfence();
        last = atomicAdd(&finished, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    k = 0;
    for (unsigned int b = threadIdx.x; b < gridDim.x; b += 512) { unsigned long long o = __ldcg(&table[b]); k = o > k ? o : k; }
    k = best_of(k);
    if (threadIdx.x == 0) { best[0] = 0xffffffffu - (unsigned int)k; finished = 0; }
}
