// 01 thread per head: one thread norms, turns and stores a whole head.
//
// Moves: nothing yet. Neighbouring lanes read elements a head apart: a request touches as many sectors as it has lanes.
// Mapping: thread h of the grid -> head h % (G K + 2K) of token h / (G K + 2K).
//
// entry: rotary_cache_thread_per_head
// block: 64
// grid: ceil(N*(G+2)*K/64)

#include <cuda_fp16.h>

constexpr int D = 64;

extern "C" __global__ void rotary_cache_thread_per_head(
    const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight,
    const long long* positions, const long long* slots, __half* q, __half* keys, __half* values, int N, int G, int K,
    int block_size, float eps)
{
    const int heads = G * K, all = heads + 2 * K;
    const int h = blockIdx.x * blockDim.x + threadIdx.x, token = h / all, head = h % all;
    if (token >= N) return;
    const __half* from = qkv + (long long)h * D;
    __half* to = q + ((long long)token * heads + head) * D;
    if (head >= heads) {
        const long long slot = slots[token];
        const long long row = (slot / block_size * K + (head - heads) % K) * block_size + slot % block_size;
        to = (head >= heads + K ? values : keys) + row * D;
    }
    if (head >= heads + K) {
        for (int i = 0; i < D; ++i) to[i] = from[i];
        return;
    }
    float squares = 0.0f;
    for (int i = 0; i < D; ++i) squares += __half2float(from[i]) * __half2float(from[i]);
    const float scale = rsqrtf(squares / D + eps);
    const __half* weight = head < heads ? q_weight : k_weight;
    for (int i = 0; i < D / 2; ++i) {
        const float low = __half2float(from[i]) * scale * __half2float(weight[i]);
        const float high = __half2float(from[D / 2 + i]) * scale * __half2float(weight[D / 2 + i]);
        const float c = cosine[positions[token] * (D / 2) + i], s = sine[positions[token] * (D / 2) + i];
        to[i] = __float2half(low * c - high * s);
        to[D / 2 + i] = __float2half(high * c + low * s);
    }
}
