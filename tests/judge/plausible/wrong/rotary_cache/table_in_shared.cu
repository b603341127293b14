// grid: N
// block: 64
// shared: 2*4*32*C
// fault: shared memory
// kinds: launch
// Both tables are copied into shared memory first: 1 MiB for 4,096 positions.
#include <cuda_fp16.h>
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    extern __shared__ float table[];
    __shared__ float x[64];
    int n = blockIdx.x, i = threadIdx.x, heads = G * K, all = heads + 2 * K, at = (int)positions[n] * 32 + i % 32;
    if (i < 32) table[2 * at] = cosine[at], table[2 * at + 1] = sine[at];
    long long slot = slots[n];
    for (int h = 0; h < all; ++h) {
        __syncthreads();
        x[i] = __half2float(qkv[((size_t)n * all + h) * 64 + i]);
        __syncthreads();
        float y = x[i], t = 0;
        if (h < heads + K) {
            for (int k = 0; k < 64; ++k) t += x[k] * x[k];
            const __half* w = h < heads ? q_weight : k_weight;
            float other = x[i ^ 32] * __half2float(w[i ^ 32]) * table[2 * at + 1];
            y = rsqrtf(t / 64 + eps) * (x[i] * __half2float(w[i]) * table[2 * at] + (i < 32 ? -other : other));
        }
        size_t row = (slot / block_size * K + (h - heads + 2 * K) % K) * block_size + slot % block_size;
        (h < heads ? q + ((size_t)n * heads + h) * 64 : (h < heads + K ? keys : values) + row * 64)[i] = __float2half(y);
    }
}
