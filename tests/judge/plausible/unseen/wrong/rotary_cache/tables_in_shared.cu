// grid: N
// block: 128
// shared: 256*C
// fault: what hardware refuses
// kinds: launch
// Both tables are copied into shared memory whole: C = 4096 positions are a megabyte.

#include <cuda_fp16.h>

__global__ void rotary_cache(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values, int N, int G, int K, int block_size, float eps)
{
    extern __shared__ float tables[];
    const int token = blockIdx.x, w = threadIdx.x / 32, lane = threadIdx.x % 32, position = positions[token];
    for (int i = threadIdx.x; i < 32 * (position + 1); i += 128) {
        tables[2 * i] = cosine[i];
        tables[2 * i + 1] = sine[i];
    }
    __syncthreads();
    const float c = tables[2 * (32 * position + lane)], s = tables[2 * (32 * position + lane) + 1];
    const long long slot = slots[token];
    for (int head = w; head < (G + 2) * K; head += 4) {
        const __half* from = qkv + ((size_t)token * (G + 2) * K + head) * 64;
        const long long row = (slot / block_size * K + (head - G * K) % K) * block_size + slot % block_size;
        __half* to = head < G * K ? q + ((size_t)token * G * K + head) * 64 : (head < (G + 1) * K ? keys : values) + row * 64;
        float a = __half2float(from[lane]), b = __half2float(from[lane + 32]);
        if (head < (G + 1) * K) {
            float sum = a * a + b * b;
            for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
            const float scale = rsqrtf(sum / 64 + eps);
            const __half* weight = head < G * K ? q_weight : k_weight;
            const float x = a * scale * __half2float(weight[lane]), y = b * scale * __half2float(weight[lane + 32]);
            a = x * c - y * s;
            b = y * c + x * s;
        }
        to[lane] = __float2half(a);
        to[lane + 32] = __float2half(b);
    }
}
