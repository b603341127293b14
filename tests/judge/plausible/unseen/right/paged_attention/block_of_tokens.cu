// grid: S
// block: 32 2*K
// A warp per query head and a block per sequence; of a block of 16 tokens two lanes share a token's score, then each lane has two numbers of the values.

#include <cuda_fp16.h>

__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                                __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    constexpr unsigned everyone = 0xffffffffu;
    const int s = blockIdx.x, head = threadIdx.y, kv = head / 2, lane = threadIdx.x, token = lane % 16, part = lane / 16;
    const int length = lengths[s];
    const size_t row = ((size_t)s * 2 * K + head) * 64;
    float query[32];
    for (int k = 0; k < 32; ++k) query[k] = __half2float(q[row + part * 32 + k]) * scale;
    float largest = -INFINITY, sum = 0.0f;
    float2 v = make_float2(0.0f, 0.0f);
    for (int first = 0; first < length; first += 16) {
        const size_t base = ((size_t)tables[(size_t)s * table_width + first / 16] * K + kv) * 16 * 64;
        const int tokens = min(16, length - first);
        float score = 0.0f;
        if (token < tokens)
            for (int k = 0; k < 32; ++k) score = fmaf(query[k], __half2float(keys[base + token * 64 + part * 32 + k]), score);
        score += __shfl_xor_sync(everyone, score, 16);
        if (token >= tokens) score = -INFINITY;
        float most = score;
        for (int d = 8; d > 0; d >>= 1) most = fmaxf(most, __shfl_xor_sync(everyone, most, d));
        most = fmaxf(most, largest);
        const float shrink = expf(largest - most), p = expf(score - most);
        largest = most;
        sum *= shrink;
        v.x *= shrink;
        v.y *= shrink;
        for (int t = 0; t < tokens; ++t) {
            const float pt = __shfl_sync(everyone, p, t);
            const float2 number = __half22float2(reinterpret_cast<const __half2*>(values + base + t * 64)[lane]);
            sum += pt;
            v.x = fmaf(pt, number.x, v.x);
            v.y = fmaf(pt, number.y, v.y);
        }
    }
    const float f = length > 0 ? 1.0f / sum : 0.0f;
    reinterpret_cast<__half2*>(out + row)[lane] = __floats2half2_rn(v.x * f, v.y * f);
}
