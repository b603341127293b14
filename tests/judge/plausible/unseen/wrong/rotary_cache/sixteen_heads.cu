// grid: N
// block: 32 16
// fault: fixed count
// kinds: wrong_result uninitialised_read
// Sixteen warps take a head each: what is beyond the sixteenth head stays as it was.

#include <cuda_fp16.h>

__global__ void rotary_cache(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values, int N, int G, int K, int block_size, float eps)
{
    const int token = blockIdx.x, head = threadIdx.y, lane = threadIdx.x;
    if (head >= (G + 2) * K) return;
    const __half2* from = reinterpret_cast<const __half2*>(qkv + ((size_t)token * (G + 2) * K + head) * 64);
    const long long slot = slots[token], row = (slot / block_size * K + (head - G * K) % K) * block_size + slot % block_size;
    if (head >= (G + 1) * K) {
        reinterpret_cast<__half2*>(values + row * 64)[lane] = from[lane];
        return;
    }
    float2 v = __half22float2(from[lane]);
    float sum = v.x * v.x + v.y * v.y;
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    const float scale = rsqrtf(sum * (1.0f / 64) + eps);
    const float2 w = __half22float2(reinterpret_cast<const __half2*>(head < G * K ? q_weight : k_weight)[lane]);
    v.x *= scale * w.x, v.y *= scale * w.y;
    const float2 u = make_float2(__shfl_xor_sync(~0u, v.x, 16), __shfl_xor_sync(~0u, v.y, 16));
    const size_t at = positions[token] * 32 + 2 * (lane % 16);
    const float sign = lane < 16 ? -1.0f : 1.0f;
    const float x = v.x * cosine[at] + sign * u.x * sine[at], y = v.y * cosine[at + 1] + sign * u.y * sine[at + 1];
    __half* to = head < G * K ? q + ((size_t)token * G * K + head) * 64 : keys + row * 64;
    reinterpret_cast<__half2*>(to)[lane] = __floats2half2_rn(x, y);
}
