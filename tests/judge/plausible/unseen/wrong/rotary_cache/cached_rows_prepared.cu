// grid: N
// block: 64
// fault: order of blocks
// kinds: race wrong_result
// The first token's block clears N slots of the cache before they are filled: what was there is lost where tokens go elsewhere,
// and what other blocks wrote in the meantime. Right for slots 0 to N - 1, if block 0 comes first.

#include <cuda_fp16.h>

__global__ void rotary_cache(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values, int N, int G, int K, int block_size, float eps)
{
    __shared__ float row[64];
    const int token = blockIdx.x, d = threadIdx.x;
    if (token == 0)
        for (int i = d; i < K * block_size * 64; i += 64)
            if (i / 64 % block_size < N) keys[i] = values[i] = __float2half(0.0f);
    __syncthreads();
    const long long slot = slots[token];
    for (int head = 0; head < (G + 2) * K; ++head) {
        row[d] = __half2float(qkv[((size_t)token * (G + 2) * K + head) * 64 + d]);
        __syncthreads();
        const long long place = ((slot / block_size * K + (head - G * K) % K) * block_size + slot % block_size) * 64 + d;
        if (head >= (G + 1) * K) {
            values[place] = __float2half(row[d]);
        } else {
            float sum = 0.0f;
            for (int i = 0; i < 64; ++i) sum += row[i] * row[i];
            const float scale = rsqrtf(sum / 64 + eps);
            const __half* w = head < G * K ? q_weight : k_weight;
            const float v = row[d] * scale * __half2float(w[d]), u = row[d ^ 32] * scale * __half2float(w[d ^ 32]);
            const long long at = positions[token] * 32 + d % 32;
            const __half result = __float2half(v * cosine[at] + (d < 32 ? -u : u) * sine[at]);
            if (head < G * K)
                q[((size_t)token * G * K + head) * 64 + d] = result;
            else
                keys[place] = result;
        }
        __syncthreads();
    }
}
