// grid: 33
// block: 32 4
// A warp per head in a grid-stride over heads of tokens: a lane has numbers i and i + 32, so that nothing is exchanged but the sum of squares.

#include <cuda_fp16.h>

__global__ void rotary_cache(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight,
                             const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
                             int N, int G, int K, int block_size, float eps)
{
    const int lane = threadIdx.x, heads = (G + 2) * K;
    for (long long id = (long long)blockIdx.x * 4 + threadIdx.y; id < (long long)N * heads; id += 4 * gridDim.x) {
        const int token = (int)(id / heads), head = (int)(id % heads);
        const __half* from = qkv + id * 64;
        const long long slot = slots[token];
        const bool query = head < G * K, value = head >= (G + 1) * K;
        __half* to = q + ((long long)token * G * K + head) * 64;
        if (!query) to = (value ? values : keys) + ((slot / block_size * K + (head - G * K) % K) * block_size + slot % block_size) * 64;
        if (value) {
            to[lane] = from[lane];
            to[lane + 32] = from[lane + 32];
            continue;
        }
        float low = __half2float(from[lane]), high = __half2float(from[lane + 32]), sum = fmaf(low, low, high * high);
        for (int d = 1; d < 32; d *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
        const float scale = 1.0f / sqrtf(sum * (1.0f / 64) + eps);
        const __half* w = query ? q_weight : k_weight;
        low *= scale * __half2float(w[lane]);
        high *= scale * __half2float(w[lane + 32]);
        const float c = cosine[positions[token] * 32 + lane], s = sine[positions[token] * 32 + lane];
        to[lane] = __float2half(low * c - high * s);
        to[lane + 32] = __float2half(high * c + low * s);
    }
}
