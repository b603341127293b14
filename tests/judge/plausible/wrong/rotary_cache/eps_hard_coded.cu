// grid: ceil(N*(G+2)*K/4)
// block: 32 4
// fault: wrong formula
// kinds: wrong_result
// eps is 1e-5 in the code, whatever the parameter says.
#include <cuda_fp16.h>
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    int lane = threadIdx.x, all = (G + 2) * K, job = blockIdx.x * 4 + threadIdx.y;
    if (job >= N * all) return;
    int n = job / all, h = job % all;
    const __half* x = qkv + (size_t)job * 64;
    float a = __half2float(x[lane]), b = __half2float(x[lane + 32]), q2 = a * a + b * b;
    long long slot = slots[n];
    __half* to = q + ((size_t)n * G * K + h) * 64;
    if (h >= G * K) to = (h < (G + 1) * K ? keys : values) + ((slot / block_size * K + (h - G * K) % K) * block_size + slot % block_size) * 64;
    if (h < (G + 1) * K) {
        for (int k = 16; k; k >>= 1) q2 += __shfl_xor_sync(~0u, q2, k);
        const __half* w = h < G * K ? q_weight : k_weight;
        float r = rsqrtf(q2 / 64 + 1e-5f), c = cosine[positions[n] * 32 + lane], s = sine[positions[n] * 32 + lane];
        float u = a * r * __half2float(w[lane]), v = b * r * __half2float(w[lane + 32]);
        a = u * c - v * s;
        b = v * c + u * s;
    }
    to[lane] = __float2half(a);
    to[lane + 32] = __float2half(b);
}
