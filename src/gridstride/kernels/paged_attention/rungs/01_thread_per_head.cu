// 01 thread per head: one thread walks over all tokens of its sequence twice, for the maximum and for the sum.
//
// Moves: nothing yet. Lanes read rows of different heads: no two of their addresses share a sector.
// Mapping: thread h of the grid -> query head h % (G K) of sequence h / (G K).
//
// entry: paged_attention_thread_per_head
// block: 32
// grid: ceil(2*S*K/32)

#include <cuda_fp16.h>
#include <math.h>

constexpr int D = 64, GROUP = 2, BLOCK_SIZE = 16;

extern "C" __global__ void paged_attention_thread_per_head(
    const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out,
    float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int h = blockIdx.x * blockDim.x + threadIdx.x, s = h / (GROUP * K), kv = h % (GROUP * K) / GROUP;
    if (s >= S) return;
    float seen[D] = {}, top = -INFINITY, sum = 0.0f;
    for (int pass = 0; pass < 2; ++pass) {
        for (int t = 0; t < lengths[s]; ++t) {
            const long long block = tables[s * table_width + t / BLOCK_SIZE];
            const long long row = ((block * K + kv) * BLOCK_SIZE + t % BLOCK_SIZE) * D;
            float score = 0.0f;
            for (int d = 0; d < D; ++d) score += __half2float(q[h * D + d]) * __half2float(keys[row + d]);
            score *= scale;
            if (pass == 0) {
                top = fmaxf(top, score);
                continue;
            }
            const float p = __expf(score - top);
            sum += p;
            for (int d = 0; d < D; ++d) seen[d] += p * __half2float(values[row + d]);
        }
    }
    for (int d = 0; d < D; ++d) out[h * D + d] = __float2half(sum > 0.0f ? seen[d] / sum : 0.0f);
}
