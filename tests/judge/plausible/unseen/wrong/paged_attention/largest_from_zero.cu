// grid: S*2*K
// block: 64
// fault: wrong formula
// kinds: wrong_result
// The running maximum begins at 0 instead of -infinity: with scores of about -200 every exponential is 0 and the answer 0 / 0 = NaN.

#include <cuda_fp16.h>

__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                                __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int s = blockIdx.x / (2 * K), head = blockIdx.x % (2 * K), d = threadIdx.x, length = lengths[s];
    __shared__ float products[64];
    products[d] = __half2float(q[(size_t)blockIdx.x * 64 + d]);
    __syncthreads();
    float largest = 0.0f, sum = 0.0f, v = 0.0f;
    for (int t = 0; t < length; ++t) {
        const size_t at = (((size_t)tables[s * table_width + t / 16] * K + head / 2) * 16 + t % 16) * 64;
        float score = 0.0f;
        for (int k = 0; k < 64; ++k) score = fmaf(products[k], __half2float(keys[at + k]), score);
        score *= scale;
        const float next = fmaxf(largest, score), shrink = expf(largest - next), p = expf(score - next);
        sum = sum * shrink + p;
        v = v * shrink + p * __half2float(values[at + d]);
        largest = next;
    }
    out[(size_t)blockIdx.x * 64 + d] = __float2half(length > 0 ? v / sum : 0.0f);
}
