// The next block's keys are asked for ahead, and the table's last entry is taken for whatever it says.
// Wrong where entries of a table behind a sequence's last block are not block numbers (-1, as everybody pads them):
// keys are read far outside. Smallest: S = K = 1, table_width = 2, length 16, tables = {0, -1000000}.
// grid: 2*S*K
// block: 32
// fault: reads padding of table
// kinds: out_of_bounds
#include <cuda_fp16.h>
__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables,
    const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int h = blockIdx.x, s = h / (2 * K), kv = h % (2 * K) / 2, lane = threadIdx.x;
    const __half2* q2 = (const __half2*)(q + (size_t)h * 64);
    const float2 query = __half22float2(q2[lane]);
    const int length = lengths[s], blocks = (length + 15) / 16;
    const int* table = tables + (size_t)s * table_width;
    float top = -INFINITY, sum = 0.0f;
    float2 o = {0.0f, 0.0f};
    __half2 next[16];
    for (int t = 0; t < 16; ++t) next[t] = ((const __half2*)(keys + (((size_t)table[0] * K + kv) * 16 + t) * 64))[lane];
    for (int b = 0; b < blocks; ++b) {
        __half2 key[16];
        const int ahead = min(b + 1, table_width - 1);
        const long long base = ((long long)table[b] * K + kv) * 16, after = ((long long)table[ahead] * K + kv) * 16;
        for (int t = 0; t < 16; ++t) {
            key[t] = next[t];
            next[t] = ((const __half2*)(keys + (after + t) * 64))[lane];
        }
        for (int t = 0; t < 16 && b * 16 + t < length; ++t) {
            const float2 k = __half22float2(key[t]), v = __half22float2(((const __half2*)(values + (base + t) * 64))[lane]);
            float d = query.x * k.x + query.y * k.y;
            for (int f = 16; f; f /= 2) d += __shfl_xor_sync(0xffffffffu, d, f);
            d *= scale;
            const float now = fmaxf(top, d), keep = __expf(top - now), p = __expf(d - now);
            top = now; sum = sum * keep + p;
            o.x = o.x * keep + p * v.x; o.y = o.y * keep + p * v.y;
        }
    }
    const float r = sum > 0.0f ? 1.0f / sum : 0.0f;
    ((__half2*)(out + (size_t)h * 64))[lane] = __floats2half2_rn(o.x * r, o.y * r);
}
