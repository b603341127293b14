// grid: N
// block: 4 4 6
//
// A block for each token, threads of three dimensions striding over heads; a functor writes.

#include <cuda_fp16.h>

struct Cache {
    __half* base;
    int K, size;
    __device__ __half* at(long long slot, int head) const
    {
        return base + (((slot / size) * K + head) * size + slot % size) * 64;
    }
};

__device__ void norm_and_turn(const __half* from, const __half* w, const float* c, const float* s, float eps, __half* to)
{
    float sum = 0.0f;
    for (int d = 0; d < 64; ++d) sum = fmaf(__half2float(from[d]), __half2float(from[d]), sum);
    const float scale = rsqrtf(sum / 64 + eps);
    for (int d = 0; d < 32; ++d) {
        const float x = __half2float(from[d]) * scale * __half2float(w[d]);
        const float y = __half2float(from[d + 32]) * scale * __half2float(w[d + 32]);
        to[d] = __float2half(x * c[d] - y * s[d]);
        to[d + 32] = __float2half(y * c[d] + x * s[d]);
    }
}

__global__ void rotary_cache(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values, int N, int G, int K, int block_size, float eps)
{
    const int t = threadIdx.x + 4 * (threadIdx.y + 4 * threadIdx.z), token = blockIdx.x, heads = G * K;
    const __half* row = qkv + (size_t)token * (G + 2) * K * 64;
    const float *c = cosine + positions[token] * 32, *s = sine + positions[token] * 32;
    const Cache k{keys, K, block_size}, v{values, K, block_size};
    for (int h = t; h < heads + K; h += 96) {
        const bool key = h >= heads;
        norm_and_turn(row + h * 64, key ? k_weight : q_weight, c, s, eps, key ? k.at(slots[token], h - heads) : q + ((size_t)token * heads + h) * 64);
    }
    for (int i = t; i < K * 64; i += 96) v.at(slots[token], i / 64)[i % 64] = row[(heads + K) * 64 + i];
}
