// grid: N (G+2)*K
// block: 64
// fault: wrong formula
// kinds: wrong_result race out_of_bounds
// Only the first slot is read, and the others are taken to follow it: right for one token and for prompts laid end to end.
#include <cuda_fp16.h>
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    __shared__ float x[64];
    int n = blockIdx.x, h = blockIdx.y, i = threadIdx.x, j = i % 32, heads = G * K;
    x[i] = __half2float(qkv[((size_t)n * gridDim.y + h) * 64 + i]);
    __syncthreads();
    long long slot = slots[0] + n, p = positions[n];
    float y = x[i], t = 0;
    if (h < heads + K) {
        for (int k = 0; k < 64; ++k) t += x[k] * x[k];
        const __half* w = h < heads ? q_weight : k_weight;
        float other = x[i ^ 32] * __half2float(w[i ^ 32]) * sine[p * 32 + j];
        y = rsqrtf(t / 64 + eps) * (x[i] * __half2float(w[i]) * cosine[p * 32 + j] + (i < 32 ? -other : other));
    }
    size_t row = (slot / block_size * K + (h - heads + 2 * K) % K) * block_size + slot % block_size;
    (h < heads ? q + ((size_t)n * heads + h) * 64 : (h < heads + K ? keys : values) + row * 64)[i] = __float2half(y);
}
