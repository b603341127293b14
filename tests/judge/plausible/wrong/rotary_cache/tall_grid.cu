// grid: 1 N*(G+2)*K
// block: 64
// fault: launch
// kinds: launch
// A head per block along y: 16,384 tokens of 32 heads are 524,288 blocks.
#include <cuda_fp16.h>
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    __shared__ float x[64];
    int all = (G + 2) * K, job = blockIdx.y, n = job / all, h = job % all, i = threadIdx.x, heads = G * K;
    x[i] = __half2float(qkv[(size_t)job * 64 + i]);
    __syncthreads();
    long long slot = slots[n], p = positions[n] * 32 + i % 32;
    float y = x[i], t = 0;
    if (h < heads + K) {
        for (float e : x) t += e * e;
        const __half* w = h < heads ? q_weight : k_weight;
        float other = x[i ^ 32] * __half2float(w[i ^ 32]) * sine[p];
        y = rsqrtf(t / 64 + eps) * (x[i] * __half2float(w[i]) * cosine[p] + (i < 32 ? -other : other));
    }
    size_t row = (slot / block_size * K + (h - heads + 2 * K) % K) * block_size + slot % block_size;
    (h < heads ? q + ((size_t)n * heads + h) * 64 : (h < heads + K ? keys : values) + row * 64)[i] = __float2half(y);
}
