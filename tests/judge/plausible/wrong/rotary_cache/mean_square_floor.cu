// grid: N (G+2)*K
// block: 32
// fault: value range
// kinds: wrong_result
// Mean square plus eps is held above 1e-9: heads of denormals with a smaller eps come out too small.
#include <cuda_fp16.h>
__global__ void rot(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values, int N, int G, int K, int block_size, float eps)
{
    int n = blockIdx.x, h = blockIdx.y, i = threadIdx.x, heads = G * K;
    const __half* f = qkv + ((size_t)n * (heads + 2 * K) + h) * 64;
    float lo = __half2float(f[i]), hi = __half2float(f[i + 32]);
    __half* to;
    if (h < heads) to = q + ((size_t)n * heads + h) * 64;
    else {
        long long s = slots[n], blk = s / block_size, off = s % block_size;
        to = (h < heads + K ? keys : values) + ((blk * K + (h - heads) % K) * block_size + off) * 64;
    }
    if (h < heads + K) {
        float ss = lo * lo + hi * hi;
        for (int o = 16; o; o /= 2) ss += __shfl_xor_sync(~0u, ss, o);
        float r = rsqrtf(ss / 64 + eps < 1e-9f ? 1e-9f : ss / 64 + eps);
        const __half* w = h < heads ? q_weight : k_weight;
        lo *= r * __half2float(w[i]); hi *= r * __half2float(w[i + 32]);
        float c = cosine[positions[n] * 32 + i], s = sine[positions[n] * 32 + i], a = lo * c - hi * s;
        hi = hi * c + lo * s; lo = a;
    }
    to[i] = __float2half(lo); to[i + 32] = __float2half(hi);
}
