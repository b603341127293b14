// grid: ceil(S*2*K/3)
// block: 32 3
//
// A warp for each head, three to a block, running softmax in registers, sixteen keys of a block at a time.

#include <cuda_fp16.h>

__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int head = blockIdx.x * 3 + threadIdx.y, lane = threadIdx.x;
    if (head >= S * 2 * K) return;
    const int s = head / (2 * K), kv = head % (2 * K) / 2, n = lengths[s];
    const float2 a = __half22float2(reinterpret_cast<const __half2*>(q)[(size_t)head * 32 + lane]);
    float top = -INFINITY, weights = 0.0f, x = 0.0f, y = 0.0f;
    for (int first = 0; first < n; first += 16) {
        const size_t base = ((size_t)tables[(size_t)s * table_width + first / 16] * K + kv) * 512 + lane;
        const __half2 *k = reinterpret_cast<const __half2*>(keys) + base, *v = reinterpret_cast<const __half2*>(values) + base;
        const int count = min(16, n - first);
        for (int t = 0; t < count; ++t) {
            const float2 b = __half22float2(k[32 * t]), c = __half22float2(v[32 * t]);
            float score = a.x * b.x + a.y * b.y;
#pragma unroll
            for (int o = 16; o; o >>= 1) score += __shfl_xor_sync(~0u, score, o);
            score *= scale;
            const float high = fmaxf(top, score), old = expf(top - high), w = expf(score - high);
            weights = fmaf(weights, old, w);
            x = fmaf(x, old, w * c.x);
            y = fmaf(y, old, w * c.y);
            top = high;
        }
    }
    const float share = weights > 0.0f ? 1.0f / weights : 0.0f;
    reinterpret_cast<__half2*>(out)[(size_t)head * 32 + lane] = __floats2half2_rn(x * share, y * share);
}
