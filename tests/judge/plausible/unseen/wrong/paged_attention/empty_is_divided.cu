// grid: 2*K S
// block: 32
// fault: size 0
// kinds: wrong_result
// A sequence without tokens divides 0 by 0: NaN, and not zeros.

#include <cuda_fp16.h>

__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int s = blockIdx.y, h = blockIdx.x, lane = threadIdx.x;
    const size_t head = ((size_t)s * 2 * K + h) * 64;
    const float2 a = __half22float2(((const __half2*)(q + head))[lane]);
    float top = -1e30f, weights = 0.0f;
    float2 sum = make_float2(0.0f, 0.0f);
    for (int t = 0; t < lengths[s]; ++t) {
        const size_t row = (((size_t)tables[(size_t)s * table_width + t / 16] * K + h / 2) * 16 + t % 16) * 64;
        const float2 k = __half22float2(((const __half2*)(keys + row))[lane]), v = __half22float2(((const __half2*)(values + row))[lane]);
        float score = a.x * k.x + a.y * k.y;
        for (int o = 16; o; o >>= 1) score += __shfl_xor_sync(~0u, score, o);
        score *= scale;
        const float high = fmaxf(top, score), old = __expf(top - high), w = __expf(score - high);
        weights = weights * old + w;
        sum.x = sum.x * old + w * v.x, sum.y = sum.y * old + w * v.y;
        top = high;
    }
    ((__half2*)(out + head))[lane] = __floats2half2_rn(sum.x / weights, sum.y / weights);
}
