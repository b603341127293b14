// grid: ceil(N/4) (G+2)*K
// block: 32 4
// fault: index type
// kinds: wrong_result race
// The element in the cache is an unsigned short: with more than 1,024 slots of 64 it begins again at the front.

#include <cuda_fp16.h>

__global__ void rotary_cache(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values, int N, int G, int K, int block_size, float eps)
{
    const int token = blockIdx.x * 4 + threadIdx.y, head = blockIdx.y, lane = threadIdx.x;
    if (token >= N) return;
    const __half* from = qkv + ((size_t)token * (G + 2) * K + head) * 64;
    const int slot = slots[token];
    const unsigned short place = ((slot / block_size * K + (head - G * K) % K) * block_size + slot % block_size) * 64;
    const float a = __half2float(from[lane]), b = __half2float(from[lane + 32]);
    if (head >= (G + 1) * K) {
        values[place + lane] = from[lane];
        values[place + lane + 32] = from[lane + 32];
        return;
    }
    float sum = a * a + b * b;
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    const float scale = rsqrtf(sum / 64 + eps);
    const __half* w = head < G * K ? q_weight : k_weight;
    const float x = a * scale * __half2float(w[lane]), y = b * scale * __half2float(w[lane + 32]);
    const float c = cosine[positions[token] * 32 + lane], s = sine[positions[token] * 32 + lane];
    __half* to = head < G * K ? q + ((size_t)token * G * K + head) * 64 : keys + place;
    to[lane] = __float2half(x * c - y * s);
    to[lane + 32] = __float2half(y * c + x * s);
}
