// grid: ceil(S*2*K/4)
// block: 128
// fault: tail
// kinds: wrong_result
// All 16 tokens of the last block are taken, also those behind the sequence's length.
#include <cuda_fp16.h>

__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= S * 2 * K) return;
    const int s = row / (2 * K), kv = row % (2 * K) / 2, blocks = (lengths[s] + 15) / 16;
    const float2 a = __half22float2(((const __half2*)q)[(size_t)row * 32 + lane]);
    float m = -INFINITY, l = 0, ox = 0, oy = 0;
    for (int b = 0; b < blocks; ++b) {
        const size_t base = ((size_t)tables[(size_t)s * table_width + b] * K + kv) * 16;
        for (int t = 0; t < 16; ++t) {
            const float2 k2 = __half22float2(((const __half2*)keys)[(base + t) * 32 + lane]);
            float dot = a.x * k2.x + a.y * k2.y;
            for (int o = 16; o; o >>= 1) dot += __shfl_xor_sync(~0u, dot, o);
            dot *= scale;
            const float top = fmaxf(m, dot), c = expf(m - top), p = expf(dot - top);
            const float2 v2 = __half22float2(((const __half2*)values)[(base + t) * 32 + lane]);
            l = l * c + p;
            ox = ox * c + p * v2.x;
            oy = oy * c + p * v2.y;
            m = top;
        }
    }
    ((__half2*)out)[(size_t)row * 32 + lane] = blocks ? __floats2half2_rn(ox / l, oy / l) : __floats2half2_rn(0, 0);
}
