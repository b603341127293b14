// grid: N (G+2)*K
// block: 32
// fault: block size no power of two
// kinds: wrong_result out_of_bounds
// Slots are taken apart by shift and mask; block_size may be 24.
#include <cuda_fp16.h>
__global__ void rotary_cache(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values, int N, int G, int K, int block_size, float eps)
{
    int t = blockIdx.x, h = blockIdx.y, l = threadIdx.x, heads = (G + 2) * K;
    const __half* in = qkv + ((size_t)t * heads + h) * 64;
    float a = __half2float(in[l]), b = __half2float(in[l + 32]);
    int shift = __ffs(block_size) - 1;
    long long slot = slots[t], block = slot >> shift, place = slot & (block_size - 1);
    if (h < (G + 1) * K) {
        float s = a * a + b * b;
        for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
        float r = 1.0f / sqrtf(s / 64 + eps);
        const __half* w = h < G * K ? q_weight : k_weight;
        a *= r * __half2float(w[l]);
        b *= r * __half2float(w[l + 32]);
        float c = cosine[positions[t] * 32 + l], n = sine[positions[t] * 32 + l];
        float low = a * c - b * n, high = b * c + a * n;
        a = low, b = high;
    }
    __half* out = h < G * K ? q + ((size_t)t * G * K + h) * 64
        : (h < (G + 1) * K ? keys : values) + ((block * K + (h - G * K) % K) * block_size + place) * 64;
    out[l] = __float2half(a);
    out[l + 32] = __float2half(b);
}
