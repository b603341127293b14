// Next piece's rows: the end of a piece is taken for a row of its own, which the piece behind it writes, too.
//
// entry: prompt_attention_next_pieces_rows
// block: 32
// grid: 128*P*K
// expect: race

#include <cuda_fp16.h>
#include <math.h>

constexpr int D = 128, GROUP = 2, BLOCK_SIZE = 16;

extern "C" __global__ void prompt_attention_next_pieces_rows(
    const __half* q, const __half* keys, const __half* values, const int* tables, const int* pieces, __half* out, int K,
    int P, int table_width, float scale)
{
    const int row = blockIdx.x % 128, head = blockIdx.x / 128 % K, lane = threadIdx.x;
    const int* piece = pieces + blockIdx.x / 128 / K * 4;
    const int first = piece[0], count = piece[1], last = piece[3], query = row / GROUP;
    const bool followed = (int)blockIdx.x / 128 / K + 1 < P && piece[5] > 0 && piece[4] == first + count;
    if (query >= count + followed) return;
    const int* table = tables + (size_t)piece[2] * table_width;
    const int seen = min(last, last - (count - 1 - query));
    const size_t at = (((size_t)(first + query) * K + head) * GROUP + row % GROUP) * (D / 2);
    const __half2 *k = reinterpret_cast<const __half2*>(keys), *v = reinterpret_cast<const __half2*>(values);
    float2 x[2], sum[2] = {};
    for (int i = 0; i < 2; ++i) x[i] = __half22float2(reinterpret_cast<const __half2*>(q)[at + lane + 32 * i]);
    float largest = -INFINITY, total = 0.0f;
    for (int t = 0; t < seen; ++t) {
        const size_t from = (((size_t)table[t / BLOCK_SIZE] * K + head) * BLOCK_SIZE + t % BLOCK_SIZE) * (D / 2);
        float score = 0.0f;
        for (int i = 0; i < 2; ++i) {
            const float2 key = __half22float2(k[from + lane + 32 * i]);
            score += x[i].x * key.x + x[i].y * key.y;
        }
        for (int offset = 16; offset > 0; offset /= 2) score += __shfl_xor_sync(0xffffffffu, score, offset);
        const float now = fmaxf(largest, score * scale), keep = __expf(largest - now);
        const float weight = __expf(score * scale - now);
        largest = now;
        total = total * keep + weight;
        for (int i = 0; i < 2; ++i) {
            const float2 value = __half22float2(v[from + lane + 32 * i]);
            sum[i] = {sum[i].x * keep + weight * value.x, sum[i].y * keep + weight * value.y};
        }
    }
    const float inverse = total > 0.0f ? 1.0f / total : 0.0f;
    for (int i = 0; i < 2; ++i)
        reinterpret_cast<__half2*>(out)[at + lane + 32 * i] =  // <- here
            __floats2half2_rn(sum[i].x * inverse, sum[i].y * inverse);
}
