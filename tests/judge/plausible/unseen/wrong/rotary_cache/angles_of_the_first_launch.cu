// grid: N (G+2)*K
// block: 32
// fault: device state between launches
// kinds: wrong_result
// Cosines and sines are kept by position once they were read: another launch with other tables gets the old ones.

#include <cuda_fp16.h>

__device__ float2 kept[8192][32];
__device__ int have[8192][32];

__device__ float2 angle(const float* cosine, const float* sine, long long position, int lane)
{
    if (position >= 8192) return make_float2(cosine[position * 32 + lane], sine[position * 32 + lane]);
    unsigned long long* cell = reinterpret_cast<unsigned long long*>(&kept[position][lane]);
    if (atomicAdd(&have[position][lane], 0) == 1) {
        __threadfence();
        const unsigned long long bits = atomicAdd(cell, 0ull);
        return make_float2(__uint_as_float((unsigned)bits), __uint_as_float((unsigned)(bits >> 32)));
    }
    const float c = cosine[position * 32 + lane], s = sine[position * 32 + lane];
    atomicExch(cell, (unsigned long long)__float_as_uint(s) << 32 | __float_as_uint(c));
    __threadfence();
    atomicExch(&have[position][lane], 1);
    return make_float2(c, s);
}

__global__ void rotary_cache(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values, int N, int G, int K, int block_size, float eps)
{
    const int token = blockIdx.x, head = blockIdx.y, lane = threadIdx.x;
    const __half* from = qkv + ((size_t)token * (G + 2) * K + head) * 64;
    const long long slot = slots[token], row = (slot / block_size * K + (head - G * K) % K) * block_size + slot % block_size;
    if (head >= (G + 1) * K) {
        values[row * 64 + lane] = from[lane];
        values[row * 64 + 32 + lane] = from[32 + lane];
        return;
    }
    const __half* w = head < G * K ? q_weight : k_weight;
    float a = __half2float(from[lane]), b = __half2float(from[lane + 32]), sum = a * a + b * b;
    for (int o = 1; o < 32; o *= 2) sum += __shfl_xor_sync(~0u, sum, o);
    const float scale = 1.0f / sqrtf(sum / 64 + eps);
    a *= scale * __half2float(w[lane]);
    b *= scale * __half2float(w[lane + 32]);
    const float2 cs = angle(cosine, sine, positions[token], lane);
    __half* to = head < G * K ? q + ((size_t)token * G * K + head) * 64 : keys + row * 64;
    to[lane] = __float2half(a * cs.x - b * cs.y);
    to[lane + 32] = __float2half(b * cs.x + a * cs.y);
}
