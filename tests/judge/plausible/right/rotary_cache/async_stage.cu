// grid: N*(G+2)*K
// block: 32
// The head comes by eight 16-byte cp.async copies; `taken` by lanes 0 to 7, used by all after the warp has met.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    __shared__ __align__(16) __half x[64];
    const int lane = threadIdx.x, heads = G * K, all = heads + 2 * K, n = blockIdx.x / all, h = blockIdx.x % all;
    if (lane < 8) __pipeline_memcpy_async(x + 8 * lane, qkv + (size_t)blockIdx.x * 64 + 8 * lane, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
    const long long slot = slots[n], p = positions[n] * 32 + lane;
    const size_t row = (slot / block_size * K + (h - heads + 2 * K) % K) * block_size + slot % block_size;
    __half* to = h < heads ? q + ((size_t)n * heads + h) * 64 : (h < heads + K ? keys : values) + row * 64;
    float a = __half2float(x[lane]), b = __half2float(x[lane + 32]);
    if (h < heads + K) {
        float t = a * a + b * b;
        for (int k = 16; k; k >>= 1) t += __shfl_xor_sync(~0u, t, k);
        const __half* w = h < heads ? q_weight : k_weight;
        const float r = rsqrtf(t / 64 + eps), u = a * r * __half2float(w[lane]), v = b * r * __half2float(w[lane + 32]);
        a = u * cosine[p] - v * sine[p], b = v * cosine[p] + u * sine[p];
    }
    to[lane] = __float2half(a), to[lane + 32] = __float2half(b);
}
