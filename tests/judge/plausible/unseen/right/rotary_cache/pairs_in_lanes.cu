// grid: ceil(N*(G+2)*K/5)
// block: 32 5
//
// A warp a head, five to a block; a lane holds two neighbours, and its partner's come by a shuffle.

#include <cuda_fp16.h>

__global__ void rotary_cache(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values, int N, int G, int K, int block_size, float eps)
{
    const int all = (G + 2) * K, lane = threadIdx.x;
    const long long unit = blockIdx.x * 5LL + threadIdx.y;
    if (unit >= (long long)N * all) return;
    const int token = unit / all, head = unit % all;
    const __half2 raw = reinterpret_cast<const __half2*>(qkv)[unit * 32 + lane];
    __half2* to = reinterpret_cast<__half2*>(q) + ((long long)token * G * K + head) * 32;
    if (head >= G * K) {
        const long long slot = slots[token], block = slot / block_size, offset = slot - block * block_size;
        const int kv = (head - G * K) % K;
        to = reinterpret_cast<__half2*>(head >= (G + 1) * K ? values : keys) + ((block * K + kv) * block_size + offset) * 32;
    }
    if (head >= (G + 1) * K) {
        to[lane] = raw;
        return;
    }
    const float2 v = __half22float2(raw);
    float sum = v.x * v.x + v.y * v.y;
#pragma unroll
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, o);
    const float scale = rsqrtf(sum / 64.0f + eps);
    const float2 w = __half22float2(reinterpret_cast<const __half2*>(head < G * K ? q_weight : k_weight)[lane]);
    const float x = v.x * scale * w.x, y = v.y * scale * w.y;
    const float px = __shfl_xor_sync(0xffffffffu, x, 16), py = __shfl_xor_sync(0xffffffffu, y, 16);
    const float2 c = reinterpret_cast<const float2*>(cosine)[positions[token] * 16 + lane % 16];
    float2 s = reinterpret_cast<const float2*>(sine)[positions[token] * 16 + lane % 16];
    if (lane < 16) s.x = -s.x, s.y = -s.y;
    to[lane] = __floats2half2_rn(x * c.x + px * s.x, y * c.y + py * s.y);
}
