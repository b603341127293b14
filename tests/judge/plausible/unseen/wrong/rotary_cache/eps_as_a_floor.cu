// grid: ceil(N*(G+2)*K/128)
// block: 128
// fault: near formula
// kinds: wrong_result
// eps is a floor under the mean square and not added to it: small heads come out up to 1.4 times too large.

#include <cuda_fp16.h>

__global__ void rotary_cache(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values, int N, int G, int K, int block_size, float eps)
{
    const int i = blockIdx.x * 128 + threadIdx.x, all = (G + 2) * K, token = i / all, head = i % all;
    if (token >= N) return;
    const __half* from = qkv + (size_t)i * 64;
    const long long slot = slots[token];
    const long long row = (slot / block_size * K + (head >= G * K ? (head - G * K) % K : 0)) * block_size + slot % block_size;
    if (head >= (G + 1) * K) {
        for (int d = 0; d < 64; ++d) values[row * 64 + d] = from[d];
        return;
    }
    float mean = 0.0f;
    for (int d = 0; d < 64; ++d) mean += __half2float(from[d]) * __half2float(from[d]) / 64;
    const float scale = rsqrtf(fmaxf(mean, eps));
    const __half* w = head < G * K ? q_weight : k_weight;
    __half* to = head < G * K ? q + ((size_t)token * G * K + head) * 64 : keys + row * 64;
    const float *c = cosine + positions[token] * 32, *s = sine + positions[token] * 32;
    for (int d = 0; d < 32; ++d) {
        const float x = __half2float(from[d]) * scale * __half2float(w[d]), y = __half2float(from[d + 32]) * scale * __half2float(w[d + 32]);
        to[d] = __float2half(x * c[d] - y * s[d]);
        to[d + 32] = __float2half(y * c[d] + x * s[d]);
    }
}
