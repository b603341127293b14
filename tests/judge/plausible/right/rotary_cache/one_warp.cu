// grid: 1
// block: 32
// One warp for all heads of all tokens.
#include <cuda_fp16.h>
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    const int lane = threadIdx.x, heads = G * K, all = heads + 2 * K;
    for (int job = 0; job < N * all; ++job) {
        const int n = job / all, h = job % all;
        const __half* x = qkv + (size_t)job * 64;
        float a = __half2float(x[lane]), b = __half2float(x[lane + 32]), t = a * a + b * b;
        for (int k = 16; k; k >>= 1) t += __shfl_xor_sync(~0u, t, k);
        const long long slot = slots[n], p = positions[n] * 32 + lane;
        const size_t row = (slot / block_size * K + (h - heads + 2 * K) % K) * block_size + slot % block_size;
        __half* to = h < heads ? q + ((size_t)n * heads + h) * 64 : (h < heads + K ? keys : values) + row * 64;
        if (h < heads + K) {
            const __half* w = h < heads ? q_weight : k_weight;
            const float r = rsqrtf(t / 64 + eps), u = a * r * __half2float(w[lane]), v = b * r * __half2float(w[lane + 32]);
            a = u * cosine[p] - v * sine[p];
            b = v * cosine[p] + u * sine[p];
        }
        to[lane] = __float2half(a);
        to[lane + 32] = __float2half(b);
    }
}
