// grid: N (G+2)*K
// block: 32
// fault: index type
// kinds: wrong_result out_of_bounds
// Positions are read as 32 bit numbers: the second token finds the upper half of the first. Right for one token.

#include <cuda_fp16.h>

__global__ void rotary_cache(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values, int N, int G, int K, int block_size, float eps)
{
    const int token = blockIdx.x, head = blockIdx.y, lane = threadIdx.x;
    const __half* from = qkv + ((size_t)token * (G + 2) * K + head) * 64;
    const long long slot = slots[token];
    const int kv = (head - G * K) % K;
    __half* to = q + ((size_t)token * G * K + head) * 64;
    if (head >= G * K) to = (head < (G + 1) * K ? keys : values) + ((slot / block_size * K + kv) * block_size + slot % block_size) * 64;
    float a = __half2float(from[lane]), b = __half2float(from[lane + 32]);
    if (head < (G + 1) * K) {
        float sum = a * a + b * b;
        for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
        const float scale = rsqrtf(sum / 64 + eps);
        const __half* w = head < G * K ? q_weight : k_weight;
        const int at = reinterpret_cast<const int*>(positions)[token] * 32 + lane;
        const float x = a * scale * __half2float(w[lane]), y = b * scale * __half2float(w[lane + 32]);
        a = x * cosine[at] - y * sine[at];
        b = y * cosine[at] + x * sine[at];
    }
    to[lane] = __float2half(a);
    to[lane + 32] = __float2half(b);
}
