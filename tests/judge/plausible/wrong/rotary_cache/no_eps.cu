// grid: ceil(N*(G+2)*K/32)
// block: 32
// fault: wrong formula
// kinds: wrong_result
// eps is left out: a head of zeros becomes NaN, a head of tiny numbers too large.
#include <cuda_fp16.h>
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    int job = blockIdx.x * 32 + threadIdx.x, heads = G * K, all = heads + 2 * K;
    if (job >= N * all) return;
    int n = job / all, h = job % all;
    const __half* x = qkv + (size_t)job * 64;
    long long slot = slots[n];
    size_t row = (slot / block_size * K + (h - heads + 2 * K) % K) * block_size + slot % block_size;
    __half* to = h < heads ? q + ((size_t)n * heads + h) * 64 : (h < heads + K ? keys : values) + row * 64;
    if (h >= heads + K) {
        for (int i = 0; i < 64; ++i) to[i] = x[i];
        return;
    }
    const __half* w = h < heads ? q_weight : k_weight;
    float t = 0;
    for (int i = 0; i < 64; ++i) t += __half2float(x[i]) * __half2float(x[i]);
    float r = 8.0f * rsqrtf(t);
    for (int i = 0; i < 32; ++i) {
        float c = cosine[positions[n] * 32 + i], s = sine[positions[n] * 32 + i];
        float u = __half2float(x[i]) * r * __half2float(w[i]), v = __half2float(x[i + 32]) * r * __half2float(w[i + 32]);
        to[i] = __float2half(u * c - v * s);
        to[i + 32] = __float2half(v * c + u * s);
    }
}
