// grid: N K
// block: 64
// fault: fixed count
// kinds: wrong_result
// A block per key head does its two query heads, its key and its value: with G above 2 the other query heads are left.
#include <cuda_fp16.h>
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    __shared__ float x[64];
    int n = blockIdx.x, kv = blockIdx.y, i = threadIdx.x, heads = G * K, all = heads + 2 * K;
    long long slot = slots[n], p = positions[n] * 32 + i % 32;
    size_t row = (slot / block_size * K + kv) * block_size + slot % block_size;
    for (int part = 0; part < 4; ++part) {
        int h = part < 2 ? 2 * kv + part : heads + (part - 2) * K + kv;
        if (part < 2 && h >= heads) continue;
        __syncthreads();
        x[i] = __half2float(qkv[((size_t)n * all + h) * 64 + i]);
        __syncthreads();
        float y = x[i], t = 0;
        if (part < 3) {
            for (int k = 0; k < 64; ++k) t += x[k] * x[k];
            const __half* w = part < 2 ? q_weight : k_weight;
            float other = x[i ^ 32] * __half2float(w[i ^ 32]) * sine[p];
            y = rsqrtf(t / 64 + eps) * (x[i] * __half2float(w[i]) * cosine[p] + (i < 32 ? -other : other));
        }
        (part < 2 ? q + ((size_t)n * heads + h) * 64 : (part == 2 ? keys : values) + row * 64)[i] = __float2half(y);
    }
}
