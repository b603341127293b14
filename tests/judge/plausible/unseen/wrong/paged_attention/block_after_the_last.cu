// grid: 2*K S
// block: 32
// fault: full last block
// kinds: out_of_bounds
// The next block's number is read ahead, length / 16 + 1 of them: past the row of the table, and of the last row past its end.

#include <cuda_fp16.h>

__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int s = blockIdx.y, h = blockIdx.x, lane = threadIdx.x, n = lengths[s];
    const size_t head = ((size_t)s * 2 * K + h) * 64;
    const float2 a = __half22float2(((const __half2*)(q + head))[lane]);
    const int* table = tables + (size_t)s * table_width;
    float top = -1e30f, weights = 0.0f;
    float2 sum = make_float2(0.0f, 0.0f);
    int block = table[0];
    for (int b = 0; b <= n / 16; ++b) {
        const __half2 *k2 = (const __half2*)(keys + ((size_t)block * K + h / 2) * 1024) + lane;
        const __half2 *v2 = (const __half2*)(values + ((size_t)block * K + h / 2) * 1024) + lane;
        for (int t = 0; t < min(16, n - 16 * b); ++t) {
            const float2 k = __half22float2(k2[32 * t]), v = __half22float2(v2[32 * t]);
            float score = a.x * k.x + a.y * k.y;
            for (int o = 16; o; o >>= 1) score += __shfl_xor_sync(~0u, score, o);
            score *= scale;
            const float high = fmaxf(top, score), old = __expf(top - high), w = __expf(score - high);
            weights = weights * old + w;
            sum.x = sum.x * old + w * v.x, sum.y = sum.y * old + w * v.y;
            top = high;
        }
        if (b < n / 16) block = *(volatile const int*)(table + b + 1);
    }
    ((__half2*)(out + head))[lane] = n ? __floats2half2_rn(sum.x / weights, sum.y / weights) : __floats2half2_rn(0.0f, 0.0f);
}
