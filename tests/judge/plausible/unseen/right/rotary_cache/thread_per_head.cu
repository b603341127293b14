// grid: ceil(N*(G+2)*K/64)
// block: 64
// One thread does a whole head, in a loop over its 32 pairs; queries, keys and values differ by a template argument.

#include <cuda_fp16.h>

enum Kind { Query, Key, Value };

template <Kind kind>
__device__ void head_of(const __half* from, __half* to, const __half* weight, const float* cosine, const float* sine, float eps)
{
    if constexpr (kind == Value) {
        for (int k = 0; k < 8; ++k) reinterpret_cast<uint4*>(to)[k] = reinterpret_cast<const uint4*>(from)[k];
    } else {
        double sum = 0.0;
        for (int k = 0; k < 64; ++k) sum += (double)__half2float(from[k]) * __half2float(from[k]);
        const float scale = (float)rsqrt(sum / 64 + eps);
        for (int k = 0; k < 32; ++k) {
            const float low = __half2float(from[k]) * scale * __half2float(weight[k]);
            const float high = __half2float(from[k + 32]) * scale * __half2float(weight[k + 32]);
            to[k] = __float2half(low * cosine[k] - high * sine[k]);
            to[k + 32] = __float2half(high * cosine[k] + low * sine[k]);
        }
    }
}

__global__ void rotary_cache(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight,
                             const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
                             int N, int G, int K, int block_size, float eps)
{
    const int heads = (G + 2) * K, id = blockIdx.x * 64 + threadIdx.x, token = id / heads, head = id % heads;
    if (token >= N) return;
    const __half* from = qkv + (size_t)id * 64;
    const float *c = cosine + positions[token] * 32, *s = sine + positions[token] * 32;
    const long long block = slots[token] / block_size, place = slots[token] % block_size;
    if (head < G * K) head_of<Query>(from, q + ((size_t)token * G * K + head) * 64, q_weight, c, s, eps);
    else if (head < (G + 1) * K) head_of<Key>(from, keys + ((block * K + head - G * K) * block_size + place) * 64, k_weight, c, s, eps);
    else head_of<Value>(from, values + ((block * K + head - (G + 1) * K) * block_size + place) * 64, nullptr, nullptr, nullptr, eps);
}
