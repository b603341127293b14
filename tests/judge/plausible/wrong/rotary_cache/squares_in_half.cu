// grid: N (G+2)*K
// block: 32
// fault: precision
// kinds: wrong_result
// The squares are added up in half: heads of numbers above 30 or so are infinite and come out as 0.
#include <cuda_fp16.h>
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    int lane = threadIdx.x, n = blockIdx.x, h = blockIdx.y, heads = G * K;
    const __half* x = qkv + ((size_t)n * gridDim.y + h) * 64;
    __half a = x[lane], b = x[lane + 32];
    long long slot = slots[n], p = positions[n] * 32 + lane;
    size_t row = (slot / block_size * K + (h - heads + 2 * K) % K) * block_size + slot % block_size;
    __half* to = h < heads ? q + ((size_t)n * heads + h) * 64 : (h < heads + K ? keys : values) + row * 64;
    if (h < heads + K) {
        __half t = __hfma(a, a, __hmul(b, b));
        for (int k = 16; k; k >>= 1) t = __hadd(t, __shfl_xor_sync(~0u, t, k));
        const __half* w = h < heads ? q_weight : k_weight;
        float r = rsqrtf(__half2float(t) / 64 + eps);
        float u = __half2float(a) * r * __half2float(w[lane]), v = __half2float(b) * r * __half2float(w[lane + 32]);
        a = __float2half(u * cosine[p] - v * sine[p]), b = __float2half(v * cosine[p] + u * sine[p]);
    }
    to[lane] = a, to[lane + 32] = b;
}
