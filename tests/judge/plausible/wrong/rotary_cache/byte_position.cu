// grid: N*(G+2)*K
// block: 32
// fault: index type
// kinds: wrong_result
// The position is kept in a byte: right for the first 256.
#include <cuda_fp16.h>
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    const int lane = threadIdx.x, heads = G * K, all = heads + 2 * K, n = blockIdx.x / all, h = blockIdx.x % all;
    const unsigned char p = positions[n];
    const long long slot = slots[n];
    float a = __half2float(qkv[(size_t)blockIdx.x * 64 + lane]), b = __half2float(qkv[(size_t)blockIdx.x * 64 + lane + 32]);
    size_t row = (slot / block_size * K + (h - heads + 2 * K) % K) * block_size + slot % block_size;
    __half* to = h < heads ? q + ((size_t)n * heads + h) * 64 : (h < heads + K ? keys : values) + row * 64;
    if (h < heads + K) {
        float t = a * a + b * b;
        for (int k = 1; k < 32; k *= 2) t += __shfl_xor_sync(~0u, t, k);
        const __half* w = h < heads ? q_weight : k_weight;
        const float r = rsqrtf(t / 64 + eps), c = cosine[p * 32 + lane], s = sine[p * 32 + lane];
        const float u = a * r * __half2float(w[lane]), v = b * r * __half2float(w[lane + 32]);
        a = u * c - v * s, b = v * c + u * s;
    }
    to[lane] = __float2half(a), to[lane + 32] = __float2half(b);
}
