// grid: S*2*K
// block: 32
// fault: bounds
// kinds: out_of_bounds
// The number of the next block is read from the table before it is known whether there is one: out of bounds where the last sequence fills its whole row of the table (length > 16 (table_width - 1)).

#include <cuda_fp16.h>

__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                                __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int s = blockIdx.x / (2 * K), kv = blockIdx.x % (2 * K) / 2, lane = threadIdx.x, length = lengths[s];
    const size_t row = (size_t)blockIdx.x * 64;
    const float q0 = __half2float(q[row + lane]), q1 = __half2float(q[row + lane + 32]);
    const int* table = tables + (size_t)s * table_width;
    float largest = -INFINITY, sum = 0.0f, v0 = 0.0f, v1 = 0.0f;
    int block = table[0];
    for (int first = 0; first < length; first += 16) {
        const int next_block = table[first / 16 + 1];
        for (int t = 0; t < min(16, length - first); ++t) {
            const size_t at = (((size_t)block * K + kv) * 16 + t) * 64;
            float score = q0 * __half2float(keys[at + lane]) + q1 * __half2float(keys[at + lane + 32]);
            for (int d = 16; d > 0; d >>= 1) score += __shfl_xor_sync(0xffffffffu, score, d);
            score *= scale;
            const float next = fmaxf(largest, score), shrink = expf(largest - next), p = expf(score - next);
            sum = sum * shrink + p;
            v0 = v0 * shrink + p * __half2float(values[at + lane]);
            v1 = v1 * shrink + p * __half2float(values[at + lane + 32]);
            largest = next;
        }
        block = next_block;
    }
    out[row + lane] = __float2half(length > 0 ? v0 / sum : 0.0f);
    out[row + lane + 32] = __float2half(length > 0 ? v1 / sum : 0.0f);
}
