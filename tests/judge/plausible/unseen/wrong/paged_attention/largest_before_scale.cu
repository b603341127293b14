// grid: ceil(S*2*K/4)
// block: 128
// fault: numerics: overflow of exp
// kinds: wrong_result
// The largest product is found before scaling, exp(scale (s - largest)): with a scale below zero the exponent is
// positive and overflows.
#include <cuda_fp16.h>

__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= S * 2 * K) return;
    const int s = row / (2 * K), kv = row % (2 * K) / 2, length = lengths[s];
    const float2 a = __half22float2(((const __half2*)q)[(size_t)row * 32 + lane]);
    auto place = [&](int t) { return (((size_t)tables[(size_t)s * table_width + t / 16] * K + kv) * 16 + t % 16) * 32 + lane; };
    auto score = [&](int t) {
        const float2 k2 = __half22float2(((const __half2*)keys)[place(t)]);
        float dot = a.x * k2.x + a.y * k2.y;
        for (int o = 16; o; o >>= 1) dot += __shfl_xor_sync(~0u, dot, o);
        return dot;
    };
    float largest = -INFINITY, l = 0, ox = 0, oy = 0;
    for (int t = 0; t < length; ++t) largest = fmaxf(largest, score(t));
    for (int t = 0; t < length; ++t) {
        const float p = expf(scale * (score(t) - largest));
        const float2 v2 = __half22float2(((const __half2*)values)[place(t)]);
        l += p;
        ox += p * v2.x;
        oy += p * v2.y;
    }
    ((__half2*)out)[(size_t)row * 32 + lane] = length ? __floats2half2_rn(ox / l, oy / l) : __floats2half2_rn(0, 0);
}
