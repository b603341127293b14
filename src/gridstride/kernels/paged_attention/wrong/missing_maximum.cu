// Missing maximum: e to the power of the score itself, which overflows where scores are large.
//
// entry: paged_attention_missing_maximum
// block: 32
// grid: 2*S*K
// expect: wrong_result

#include <cuda_fp16.h>

constexpr int D = 64, GROUP = 2, BLOCK_SIZE = 16;

extern "C" __global__ void paged_attention_missing_maximum(
    const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out,
    float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int h = blockIdx.x, s = h / (GROUP * K), kv = h % (GROUP * K) / GROUP, lane = threadIdx.x;
    const float2 query = __half22float2(reinterpret_cast<const __half2*>(q + (long long)h * D)[lane]);
    float2 seen = {0.0f, 0.0f};
    float sum = 0.0f;
    for (int t = 0; t < lengths[s]; ++t) {
        const long long block = tables[s * table_width + t / BLOCK_SIZE];
        const long long row = ((block * K + kv) * BLOCK_SIZE + t % BLOCK_SIZE) * D;
        const float2 key = __half22float2(reinterpret_cast<const __half2*>(keys + row)[lane]);
        const float2 value = __half22float2(reinterpret_cast<const __half2*>(values + row)[lane]);
        float score = (query.x * key.x + query.y * key.y) * scale;
        for (int offset = 16; offset > 0; offset /= 2) score += __shfl_xor_sync(0xffffffffu, score, offset);
        const float p = __expf(score);
        sum += p;
        seen = {seen.x + p * value.x, seen.y + p * value.y};
    }
    const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
    reinterpret_cast<__half2*>(out + (long long)h * D)[lane] = __floats2half2_rn(seen.x * inverse, seen.y * inverse);
}
