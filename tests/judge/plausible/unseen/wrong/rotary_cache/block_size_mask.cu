// grid: ceil(N*(G+2)*K/4)
// block: 128
// fault: index arithmetic
// kinds: out_of_bounds wrong_result
// Slot & (block_size - 1) and a shift by log2: right for powers of two alone, block_size is any number up to 32.
#include <cuda_fp16.h>

__global__ void rotary_cache(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values, int N, int G, int K, int block_size, float eps)
{
    const int heads = (G + 2) * K, item = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (item >= N * heads) return;
    const int n = item / heads, head = item % heads;
    const __half* in = qkv + (size_t)item * 64;
    float lo = __half2float(in[lane]), hi = __half2float(in[lane + 32]);
    __half* to;
    if (head < G * K) {
        to = q + ((size_t)n * G * K + head) * 64;
    } else {
        const long long slot = slots[n], block = slot >> (31 - __clz(block_size)), place = slot & (block_size - 1);
        __half* cache = head < (G + 1) * K ? keys : values;
        to = cache + ((block * K + (head - G * K) % K) * block_size + place) * 64;
    }
    if (head >= (G + 1) * K) {
        to[lane] = in[lane];
        to[lane + 32] = in[lane + 32];
        return;
    }
    float sum = lo * lo + hi * hi;
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    const float r = rsqrtf(sum / 64 + eps);
    const __half* w = head < G * K ? q_weight : k_weight;
    lo *= r * __half2float(w[lane]);
    hi *= r * __half2float(w[lane + 32]);
    const float c = cosine[positions[n] * 32 + lane], s = sine[positions[n] * 32 + lane];
    to[lane] = __float2half(lo * c - hi * s);
    to[lane + 32] = __float2half(hi * c + lo * s);
}
