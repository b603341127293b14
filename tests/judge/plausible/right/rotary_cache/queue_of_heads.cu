// grid: 5
// block: 33
// A thread per head, 33 heads at a time from a queue that the last block takes back to 0.
#include <cuda_fp16.h>
__device__ unsigned taken, gone;
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    __shared__ unsigned first;
    const unsigned heads = G * K, all = heads + 2 * K, jobs = N * all;
    while (true) {
        if (threadIdx.x == 0) first = atomicAdd(&taken, 33u);
        __syncthreads();
        const unsigned start = first, job = start + threadIdx.x;
        __syncthreads();
        if (start >= jobs) break;
        if (job >= jobs) continue;
        const int n = job / all, h = job % all;
        const __half* x = qkv + (size_t)job * 64;
        const long long slot = slots[n];
        const size_t row = (slot / block_size * K + (h + 2 * K - heads) % K) * block_size + slot % block_size;
        __half* to = h < heads ? q + ((size_t)n * heads + h) * 64 : (h < heads + K ? keys : values) + row * 64;
        float t = 0;
        for (int i = 0; i < 64; ++i) t = fmaf(__half2float(x[i]), __half2float(x[i]), t);
        const __half* w = h < heads ? q_weight : k_weight;
        const float r = 1.0f / sqrtf(t / 64 + eps);
        for (int i = 0; i < 32; ++i) {
            float u = __half2float(x[i]), v = __half2float(x[i + 32]);
            if (h < heads + K) {
                const float c = cosine[positions[n] * 32 + i], s = sine[positions[n] * 32 + i];
                const float a = u * r * __half2float(w[i]), b = v * r * __half2float(w[i + 32]);
                u = a * c - b * s, v = b * c + a * s;
            }
            to[i] = __float2half(u), to[i + 32] = __float2half(v);
        }
    }
    if (threadIdx.x == 0 && atomicAdd(&gone, 1u) == gridDim.x - 1) taken = gone = 0;
}
