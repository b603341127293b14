// grid: N
// block: 32 4
// fault: wrong formula
// kinds: wrong_result out_of_bounds
// A token's position is the first one's plus its number: right for one sequence, wrong for a batch of several.
#include <cuda_fp16.h>
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    int lane = threadIdx.x, n = blockIdx.x, heads = G * K, all = heads + 2 * K;
    long long p = positions[0] + n, slot = slots[n];
    float c = cosine[p * 32 + lane], s = sine[p * 32 + lane];
    for (int h = threadIdx.y; h < all; h += 4) {
        const __half* x = qkv + ((size_t)n * all + h) * 64;
        float a = __half2float(x[lane]), b = __half2float(x[lane + 32]), t = a * a + b * b;
        for (int k = 16; k; k >>= 1) t += __shfl_xor_sync(~0u, t, k);
        size_t row = (slot / block_size * K + (h - heads + 2 * K) % K) * block_size + slot % block_size;
        __half* to = h < heads ? q + ((size_t)n * heads + h) * 64 : (h < heads + K ? keys : values) + row * 64;
        if (h < heads + K) {
            const __half* w = h < heads ? q_weight : k_weight;
            float r = rsqrtf(t / 64 + eps), u = a * r * __half2float(w[lane]), v = b * r * __half2float(w[lane + 32]);
            a = u * c - v * s, b = v * c + u * s;
        }
        to[lane] = __float2half(a), to[lane + 32] = __float2half(b);
    }
}
