// grid: N
// block: 64
// fault: fixed count
// kinds: uninitialised_read out_of_bounds wrong_result
// The first 64 positions of the tables are kept in shared memory: 16 KiB, and later positions are not there.
#include <cuda_fp16.h>
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    __shared__ float c[64][32], s[64][32], x[64];
    int n = blockIdx.x, i = threadIdx.x, heads = G * K, all = heads + 2 * K, p = (int)positions[n];
    if (i < 32)
        for (int r = 0; r <= min(p, 63); ++r) c[r][i] = cosine[r * 32 + i], s[r][i] = sine[r * 32 + i];
    long long slot = slots[n];
    for (int h = 0; h < all; ++h) {
        __syncthreads();
        x[i] = __half2float(qkv[((size_t)n * all + h) * 64 + i]);
        __syncthreads();
        float y = x[i], t = 0;
        if (h < heads + K) {
            for (int k = 0; k < 64; ++k) t += x[k] * x[k];
            const __half* w = h < heads ? q_weight : k_weight;
            float other = x[i ^ 32] * __half2float(w[i ^ 32]) * s[p][i % 32];
            y = rsqrtf(t / 64 + eps) * (x[i] * __half2float(w[i]) * c[p][i % 32] + (i < 32 ? -other : other));
        }
        size_t row = (slot / block_size * K + (h - heads + 2 * K) % K) * block_size + slot % block_size;
        (h < heads ? q + ((size_t)n * heads + h) * 64 : (h < heads + K ? keys : values) + row * 64)[i] = __float2half(y);
    }
}
