// grid: N*(G+2)*K
// block: 64
// fault: fixed count
// kinds: wrong_result out_of_bounds race
// Sixteen tokens per block are written into the code: other block sizes land elsewhere.
#include <cuda_fp16.h>
#define BLOCK 16
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    __shared__ float x[64];
    int all = (G + 2) * K, n = blockIdx.x / all, h = blockIdx.x % all, i = threadIdx.x, j = i % 32;
    x[i] = __half2float(qkv[(size_t)blockIdx.x * 64 + i]);
    __syncthreads();
    long long slot = slots[n], p = positions[n];
    float y = x[i];
    if (h < (G + 1) * K) {
        float t = 0;
        for (int k = 0; k < 64; ++k) t += x[k] * x[k];
        const __half* w = h < G * K ? q_weight : k_weight;
        float r = 1.0f / sqrtf(t / 64 + eps), other = x[i ^ 32] * __half2float(w[i ^ 32]) * sine[p * 32 + j];
        y = r * (x[i] * __half2float(w[i]) * cosine[p * 32 + j] + (i < 32 ? -other : other));
    }
    if (h < G * K) q[((size_t)n * G * K + h) * 64 + i] = __float2half(y);
    else if (h < (G + 1) * K) keys[((slot / BLOCK * K + h - G * K) * BLOCK + slot % BLOCK) * 64 + i] = __float2half(y);
    else values[((slot / BLOCK * K + h - (G + 1) * K) * BLOCK + slot % BLOCK) * 64 + i] = __float2half(y);
}
