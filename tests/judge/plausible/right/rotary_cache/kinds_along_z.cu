// grid: N max(G,1)*K 3
// block: 64
// Queries, keys and values by the grid's z; layers without a head at that y have nothing to do.
#include <cuda_fp16.h>
struct Shape { int N, G, K, block_size; };
__device__ __half* cached(__half* cache, Shape s, long long slot, int head)
{
    return cache + ((slot / s.block_size * s.K + head) * s.block_size + slot % s.block_size) * 64;
}
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    __shared__ float x[64];
    const Shape shape{N, G, K, block_size};
    const int n = blockIdx.x, head = blockIdx.y, kind = blockIdx.z, i = threadIdx.x;
    if (kind > 0 && head >= K) return;
    const int source = kind == 0 ? head : G * K + (kind - 1) * K + head;
    const __half raw = qkv[((size_t)n * (G + 2) * K + source) * 64 + i];
    if (kind == 2) {
        cached(values, shape, slots[n], head)[i] = raw;
        return;
    }
    x[i] = __half2float(raw);
    __syncthreads();
    double t = 0;
    for (int k = 0; k < 64; ++k) t += (double)x[k] * x[k];
    const float scale = (float)(1.0 / sqrt(t / 64 + eps));
    const __half* w = kind == 0 ? q_weight : k_weight;
    const long long p = positions[n] * 32 + i % 32;
    const float mine = x[i] * scale * __half2float(w[i]), other = x[i ^ 32] * scale * __half2float(w[i ^ 32]);
    const float y = i < 32 ? mine * cosine[p] - other * sine[p] : mine * cosine[p] + other * sine[p];
    (kind == 0 ? q + ((size_t)n * G * K + head) * 64 : cached(keys, shape, slots[n], head))[i] = __float2half(y);
}
