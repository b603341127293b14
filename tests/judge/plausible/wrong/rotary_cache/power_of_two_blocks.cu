// grid: N
// block: 32
// fault: wrong formula
// kinds: wrong_result out_of_bounds race
// Block and offset of a slot by shift and mask: right only where block_size is a power of two.
#include <cuda_fp16.h>
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    int lane = threadIdx.x, n = blockIdx.x, heads = G * K, shift = 31 - __clz(block_size);
    long long block = slots[n] >> shift, offset = slots[n] & ((1 << shift) - 1);
    for (int h = 0; h < heads + 2 * K; ++h) {
        const __half* x = qkv + ((size_t)n * (heads + 2 * K) + h) * 64;
        float a = __half2float(x[lane]), b = __half2float(x[lane + 32]);
        int kv = (h - heads + 2 * K) % K;
        __half* to = h < heads ? q + ((size_t)n * heads + h) * 64 : (h < heads + K ? keys : values) + ((block * K + kv) * block_size + offset) * 64;
        if (h < heads + K) {
            float t = a * a + b * b;
            for (int k = 16; k; k >>= 1) t += __shfl_xor_sync(~0u, t, k);
            float r = rsqrtf(t / 64 + eps);
            const __half* w = h < heads ? q_weight : k_weight;
            a *= r * __half2float(w[lane]);
            b *= r * __half2float(w[lane + 32]);
            float c = cosine[positions[n] * 32 + lane], s = sine[positions[n] * 32 + lane], first = a * c - b * s;
            b = b * c + a * s;
            a = first;
        }
        to[lane] = __float2half(a);
        to[lane + 32] = __float2half(b);
    }
}
