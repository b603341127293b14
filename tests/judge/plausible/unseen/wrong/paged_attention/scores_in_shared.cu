// grid: S*2*K
// block: 64
// fault: race
// kinds: out_of_bounds race
// The scores are kept in 512 floats of shared memory: out of bounds for lengths above 512 (a table_width of 300 has up to 4800 tokens).

#include <cuda_fp16.h>

__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                                __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    __shared__ float scores[512];
    __shared__ float query[64];
    const int s = blockIdx.x / (2 * K), kv = blockIdx.x % (2 * K) / 2, d = threadIdx.x, length = lengths[s];
    query[d] = __half2float(q[(size_t)blockIdx.x * 64 + d]);
    __syncthreads();
    for (int t = d; t < length; t += 64) {
        const __half* k = keys + (((size_t)tables[s * table_width + t / 16] * K + kv) * 16 + t % 16) * 64;
        float score = 0.0f;
        for (int i = 0; i < 64; ++i) score = fmaf(query[i], __half2float(k[i]), score);
        scores[t] = score * scale;
    }
    __syncthreads();
    float largest = -INFINITY, sum = 0.0f, v = 0.0f;
    for (int t = 0; t < length; ++t) largest = fmaxf(largest, scores[t]);
    for (int t = 0; t < length; ++t) {
        const float p = expf(scores[t] - largest);
        sum += p;
        v += p * __half2float(values[(((size_t)tables[s * table_width + t / 16] * K + kv) * 16 + t % 16) * 64 + d]);
    }
    out[(size_t)blockIdx.x * 64 + d] = __float2half(length > 0 ? v / sum : 0.0f);
}
