// Whole cache blocks of 16 tokens are multiplied; tokens past the length get the weight 0 instead of being skipped.
// Wrong where the cache past a sequence's end is NaN or Inf (memory that nobody has written yet): 0 * NaN is NaN.
// Smallest: S = K = 1, length 1, values[block][0][1][0] = NaN (token 1 is not of the sequence): out[0] is NaN.
// grid: 2*S*K
// block: 32
// fault: whole blocks multiplied
// kinds: wrong_result
#include <cuda_fp16.h>
__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables,
    const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int h = blockIdx.x, s = h / (2 * K), kv = h % (2 * K) / 2, lane = threadIdx.x;
    const float qx = __half2float(q[(size_t)h * 64 + 2 * lane]), qy = __half2float(q[(size_t)h * 64 + 2 * lane + 1]);
    const int length = lengths[s];
    float top = -INFINITY, sum = 0.0f, ox = 0.0f, oy = 0.0f;
    for (int b = 0; b * 16 < length; ++b) {
        const size_t base = ((size_t)tables[(size_t)s * table_width + b] * K + kv) * 16 * 64;
        float sc[16], now = top;
        for (int t = 0; t < 16; ++t) {
            const __half* k = keys + base + t * 64 + 2 * lane;
            float d = qx * __half2float(k[0]) + qy * __half2float(k[1]);
            for (int o = 16; o; o /= 2) d += __shfl_xor_sync(0xffffffffu, d, o);
            sc[t] = b * 16 + t < length ? d * scale : -INFINITY;
            now = fmaxf(now, sc[t]);
        }
        const float keep = __expf(top - now);
        sum *= keep; ox *= keep; oy *= keep; top = now;
        for (int t = 0; t < 16; ++t) {
            const float p = __expf(sc[t] - top);
            const __half* v = values + base + t * 64 + 2 * lane;
            sum += p; ox += p * __half2float(v[0]); oy += p * __half2float(v[1]);
        }
    }
    const float r = sum > 0.0f ? 1.0f / sum : 0.0f;
    out[(size_t)h * 64 + 2 * lane] = __float2half(ox * r);
    out[(size_t)h * 64 + 2 * lane + 1] = __float2half(oy * r);
}
