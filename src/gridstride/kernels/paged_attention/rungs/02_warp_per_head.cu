// 02 warp per head: lanes share a token's row; maximum, sum and output are kept up to date token by token.
//
// Moves: sectors per request, from 32 to 4; passes over the keys, from two to one (online softmax).
// Mapping: block h -> query head h % (G K) of sequence h / (G K); lane l -> elements 2l and 2l + 1.
//
// entry: paged_attention_warp_per_head
// block: 32
// grid: 2*S*K

#include <cuda_fp16.h>
#include <math.h>

constexpr int D = 64, GROUP = 2, BLOCK_SIZE = 16;

extern "C" __global__ void paged_attention_warp_per_head(
    const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out,
    float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int h = blockIdx.x, s = h / (GROUP * K), kv = h % (GROUP * K) / GROUP, lane = threadIdx.x;
    const float2 query = __half22float2(reinterpret_cast<const __half2*>(q + (long long)h * D)[lane]);
    float2 seen = {0.0f, 0.0f};
    float top = -INFINITY, sum = 0.0f;
    for (int t = 0; t < lengths[s]; ++t) {
        const long long block = tables[s * table_width + t / BLOCK_SIZE];
        const long long row = ((block * K + kv) * BLOCK_SIZE + t % BLOCK_SIZE) * D;
        const float2 key = __half22float2(reinterpret_cast<const __half2*>(keys + row)[lane]);
        const float2 value = __half22float2(reinterpret_cast<const __half2*>(values + row)[lane]);
        float score = (query.x * key.x + query.y * key.y) * scale;
        for (int offset = 16; offset > 0; offset /= 2) score += __shfl_xor_sync(0xffffffffu, score, offset);
        const float next = fmaxf(top, score), keep = __expf(top - next), p = __expf(score - next);
        top = next;
        sum = sum * keep + p;
        seen = {seen.x * keep + p * value.x, seen.y * keep + p * value.y};
    }
    const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
    reinterpret_cast<__half2*>(out + (long long)h * D)[lane] = __floats2half2_rn(seen.x * inverse, seen.y * inverse);
}
