// grid: N
// block: 16 12
// Each lane holds two neighbouring elements of both halves as __half2; twelve heads at a time, half a warp each.
#include <cuda_fp16.h>
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    const int lane = threadIdx.x, n = blockIdx.x, heads = G * K, all = heads + 2 * K;
    const unsigned mask = 0xffffu << (threadIdx.y % 2 * 16);
    const long long slot = slots[n], p = positions[n] * 32 + 2 * lane;
    for (int h = threadIdx.y; h < all; h += 12) {
        const __half2* x = reinterpret_cast<const __half2*>(qkv + ((size_t)n * all + h) * 64);
        float2 a = __half22float2(x[lane]), b = __half22float2(x[lane + 16]);
        const size_t row = (slot / block_size * K + (h - heads + 2 * K) % K) * block_size + slot % block_size;
        __half* base = h < heads ? q + ((size_t)n * heads + h) * 64 : (h < heads + K ? keys : values) + row * 64;
        if (h < heads + K) {
            float t = a.x * a.x + a.y * a.y + b.x * b.x + b.y * b.y;
            for (int k = 8; k; k >>= 1) t += __shfl_xor_sync(mask, t, k);
            const float r = rsqrtf(t / 64 + eps);
            const __half2* w = reinterpret_cast<const __half2*>(h < heads ? q_weight : k_weight);
            const float2 u = __half22float2(w[lane]), v = __half22float2(w[lane + 16]);
            a.x *= r * u.x, a.y *= r * u.y, b.x *= r * v.x, b.y *= r * v.y;
            const float2 low = a;
            a.x = low.x * cosine[p] - b.x * sine[p], a.y = low.y * cosine[p + 1] - b.y * sine[p + 1];
            b.x = b.x * cosine[p] + low.x * sine[p], b.y = b.y * cosine[p + 1] + low.y * sine[p + 1];
        }
        reinterpret_cast<__half2*>(base)[lane] = __float22half2_rn(a);
        reinterpret_cast<__half2*>(base)[lane + 16] = __float22half2_rn(b);
    }
}
