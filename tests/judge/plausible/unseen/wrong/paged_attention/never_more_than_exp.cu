// grid: S 2*K
// block: 32
// fault: values
// kinds: wrong_result
// exp(score) without the largest taken away: infinite above 88, all 0 below -104.

#include <cuda_fp16.h>

__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int s = blockIdx.x, h = blockIdx.y, lane = threadIdx.x, n = lengths[s];
    const size_t head = ((size_t)s * 2 * K + h) * 64;
    const float2 a = __half22float2(((const __half2*)(q + head))[lane]);
    float weights = n ? 0.0f : 1.0f;
    float2 sum = make_float2(0.0f, 0.0f);
    for (int t = 0; t < n; ++t) {
        const size_t row = (((size_t)tables[(size_t)s * table_width + (t >> 4)] * K + (h >> 1)) * 16 + (t & 15)) * 64;
        const float2 k = __half22float2(((const __half2*)(keys + row))[lane]), v = __half22float2(((const __half2*)(values + row))[lane]);
        float score = a.x * k.x + a.y * k.y;
        for (int o = 16; o; o >>= 1) score += __shfl_xor_sync(~0u, score, o);
        const float w = expf(score * scale);
        weights += w;
        sum.x += w * v.x, sum.y += w * v.y;
    }
    ((__half2*)(out + head))[lane] = __floats2half2_rn(sum.x / weights, sum.y / weights);
}
