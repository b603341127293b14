// right: a warp for each head, grid-stride
// grid: 4*SMS
// block: 96
#include <cuda_fp16.h>

__global__ void rotary_cache(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values, int N, int G, int K, int block_size, float eps)
{
    const int heads = (G + 2) * K, lane = threadIdx.x % 32;
    for (int item = blockIdx.x * 3 + threadIdx.x / 32; item < N * heads; item += gridDim.x * 3) {
        const int n = item / heads, head = item % heads;
        const __half* in = qkv + (size_t)item * 64;
        float lo = __half2float(in[lane]), hi = __half2float(in[lane + 32]);
        __half* to = q + ((size_t)n * G * K + head) * 64;
        if (head >= G * K) {
            const long long slot = slots[n];
            to = (head < (G + 1) * K ? keys : values) + ((slot / block_size * K + (head - G * K) % K) * block_size + slot % block_size) * 64;
        }
        if (head < (G + 1) * K) {
            float sum = lo * lo + hi * hi;
            for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
            const float r = rsqrtf(sum / 64 + eps);
            const __half* w = head < G * K ? q_weight : k_weight;
            const float a = lo * r * __half2float(w[lane]), b = hi * r * __half2float(w[lane + 32]);
            const float c = cosine[positions[n] * 32 + lane], s = sine[positions[n] * 32 + lane];
            lo = a * c - b * s;
            hi = b * c + a * s;
        }
        to[lane] = __float2half(lo);
        to[lane + 32] = __float2half(hi);
    }
}
