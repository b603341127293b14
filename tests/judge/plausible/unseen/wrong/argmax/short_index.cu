// grid: 4
// block: 512
// fault: 16-bit index
// kinds: wrong_result
// Four blocks share the vector; the index within a block's part is kept in 16 bits to save shared memory,
// and a part has more than 65536 elements from n = 262145 on.
__device__ unsigned long long part[4];
__device__ unsigned arrived;

__device__ __forceinline__ unsigned order(float v)
{
    if (v != v) return 0xffffffffu;
    if (v == 0) v = 0.0f;
    unsigned u = __float_as_uint(v);
    return u & 0x80000000u ? ~u : u | 0x80000000u;
}

__global__ void argmax(const float* x, long long* best, int n)
{
    __shared__ unsigned k[512];
    __shared__ unsigned short p[512];
    int t = threadIdx.x, length = (n + 3) / 4, begin = blockIdx.x * length, end = min(n, begin + length);
    unsigned mine = 0;
    int at = 0;
    for (int i = begin + t; i < end; i += 512) {
        unsigned v = order(x[i]);
        if (v > mine) mine = v, at = i - begin;
    }
    k[t] = mine;
    p[t] = at;
    __syncthreads();
    for (int d = 256; d; d >>= 1) {
        if (t < d && (k[t + d] > k[t] || (k[t + d] == k[t] && p[t + d] < p[t]))) k[t] = k[t + d], p[t] = p[t + d];
        __syncthreads();
    }
    if (t == 0) {
        part[blockIdx.x] = ((unsigned long long)k[0] << 32) | (0xffffffffu - (begin + p[0]));
        __threadfence();
        if (atomicInc(&arrived, 3) == 3) {
            __threadfence();
            unsigned long long m = part[0];
            for (int b = 1; b < 4; ++b) m = max(m, part[b]);
            *best = 0xffffffffu - (unsigned)m;
        }
    }
}
