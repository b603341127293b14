// grid: ceil(N*(G+2)*K/2)
// block: 32
// fault: member mask
// kinds: member_mask wrong_result inactive_lane
// Half a warp per head, two heads per warp; values and what lies behind the end leave before the full-mask shuffles: an odd K
// parts a warp.
#include <cuda_fp16.h>
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    int heads = G * K, all = heads + 2 * K, job = blockIdx.x * 2 + threadIdx.x / 16, lane = threadIdx.x % 16;
    if (job >= N * all) return;
    int n = job / all, h = job % all;
    const __half* x = qkv + (size_t)job * 64;
    long long slot = slots[n];
    size_t row = (slot / block_size * K + (h - heads + 2 * K) % K) * block_size + slot % block_size;
    __half* to = h < heads ? q + ((size_t)n * heads + h) * 64 : (h < heads + K ? keys : values) + row * 64;
    if (h >= heads + K) {
        for (int i = lane; i < 64; i += 16) to[i] = x[i];
        return;
    }
    float t = 0;
    for (int i = lane; i < 64; i += 16) t += __half2float(x[i]) * __half2float(x[i]);
    for (int k = 8; k; k >>= 1) t += __shfl_xor_sync(0xffffffffu, t, k);
    const __half* w = h < heads ? q_weight : k_weight;
    float r = rsqrtf(t / 64 + eps);
    for (int i = lane; i < 32; i += 16) {
        float c = cosine[positions[n] * 32 + i], s = sine[positions[n] * 32 + i];
        float u = __half2float(x[i]) * r * __half2float(w[i]), v = __half2float(x[i + 32]) * r * __half2float(w[i + 32]);
        to[i] = __float2half(u * c - v * s), to[i + 32] = __float2half(v * c + u * s);
    }
}
