// grid: N (G+2)*K
// block: 64
// fault: race
// kinds: race wrong_result unrepeatable
// A token at the start of a cache block sets the other slots of it to 0, as for a fresh block: what was there is lost, and
// so is what other tokens of this launch put there.
#include <cuda_fp16.h>
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    __shared__ float x[64];
    int n = blockIdx.x, h = blockIdx.y, i = threadIdx.x, heads = G * K;
    x[i] = __half2float(qkv[((size_t)n * gridDim.y + h) * 64 + i]);
    __syncthreads();
    long long slot = slots[n], p = positions[n] * 32 + i % 32;
    float y = x[i], t = 0;
    if (h < heads + K) {
        for (int k = 0; k < 64; ++k) t += x[k] * x[k];
        const __half* w = h < heads ? q_weight : k_weight;
        float other = x[i ^ 32] * __half2float(w[i ^ 32]) * sine[p];
        y = rsqrtf(t / 64 + eps) * (x[i] * __half2float(w[i]) * cosine[p] + (i < 32 ? -other : other));
    }
    if (h < heads) {
        q[((size_t)n * heads + h) * 64 + i] = __float2half(y);
        return;
    }
    size_t row = (slot / block_size * K + (h - heads) % K) * block_size + slot % block_size;
    __half* to = (h < heads + K ? keys : values) + row * 64;
    to[i] = __float2half(y);
    if (slot % block_size == 0)
        for (int o = 1; o < block_size; ++o) to[o * 64 + i] = __float2half(0.0f);
}
