// grid: S K
// block: 128
//
// Two passes over pieces of 128 tokens in shared memory; both heads of a group in one block.

#include <cuda_fp16.h>

struct Head {
    float query[64];
    float score[128];
    float top, weights;
};

__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    __shared__ Head heads[2];
    const int s = blockIdx.x, kv = blockIdx.y, t = threadIdx.x, n = lengths[s], g = t / 64, d = t % 64;
    const size_t place = (((size_t)s * 2 * K) + 2 * kv + g) * 64 + d;
    const auto row = [&](int i) { return (((size_t)tables[(size_t)s * table_width + i / 16] * K + kv) * 16 + i % 16) * 64; };
    heads[g].query[d] = __half2float(q[place]) * scale;
    if (d == 0) heads[g].top = -3e38f, heads[g].weights = 0.0f;
    float sum = 0.0f;
    for (int first = 0; first < n; first += 128) {
        const int count = min(128, n - first);
        __syncthreads();
        if (t < count) {
            const __half* k = keys + row(first + t);
            float u = 0.0f, v = 0.0f;
            for (int i = 0; i < 64; ++i) {
                const float b = __half2float(k[i]);
                u += heads[0].query[i] * b;
                v += heads[1].query[i] * b;
            }
            heads[0].score[t] = u;
            heads[1].score[t] = v;
        }
        __syncthreads();
        float high = heads[g].top;
        for (int i = 0; i < count; ++i) high = fmaxf(high, heads[g].score[i]);
        const float old = expf(heads[g].top - high);
        float weights = heads[g].weights * old;
        sum *= old;
        for (int i = 0; i < count; ++i) {
            const float w = expf(heads[g].score[i] - high);
            weights += w;
            sum += w * __half2float(values[row(first + i) + d]);
        }
        __syncthreads();
        if (d == 0) heads[g].top = high, heads[g].weights = weights;
    }
    __syncthreads();
    out[place] = __float2half(n > 0 ? sum / heads[g].weights : 0.0f);
}
