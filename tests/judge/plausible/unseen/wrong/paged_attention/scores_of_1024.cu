// grid: S 2*K
// block: 128
// fault: fixed cache
// kinds: out_of_bounds
// Scores have room for 1,024 tokens: tables wider than 64 blocks hold longer sequences.

#include <cuda_fp16.h>

__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    __shared__ float scores[1024];
    __shared__ float query[64];
    const int s = blockIdx.x, h = blockIdx.y, t = threadIdx.x, n = lengths[s];
    const size_t head = ((size_t)s * 2 * K + h) * 64;
    auto row = [&](int i) { return (((size_t)tables[(size_t)s * table_width + i / 16] * K + h / 2) * 16 + i % 16) * 64; };
    if (t < 64) query[t] = __half2float(q[head + t]) * scale;
    __syncthreads();
    for (int i = t; i < n; i += 128) {
        const __half* k = keys + row(i);
        float score = 0.0f;
        for (int d = 0; d < 64; ++d) score += query[d] * __half2float(k[d]);
        scores[i] = score;
    }
    __syncthreads();
    if (t >= 64) return;
    float top = -INFINITY, weights = 0.0f, sum = 0.0f;
    for (int i = 0; i < n; ++i) top = fmaxf(top, scores[i]);
    for (int i = 0; i < n; ++i) {
        const float w = expf(scores[i] - top);
        weights += w;
        sum += w * __half2float(values[row(i) + t]);
    }
    out[head + t] = __float2half(n ? sum / weights : 0.0f);
}
