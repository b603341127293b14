// grid: S 2*K
// block: 64
// fault: index type
// kinds: wrong_result
// A token's place in the cache, block times sixteen and offset, is an unsigned short: wrong from block 4,096 on.

#include <cuda_fp16.h>

__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    __shared__ float part[2];
    const int s = blockIdx.x, h = blockIdx.y, d = threadIdx.x, n = lengths[s];
    const size_t head = ((size_t)s * 2 * K + h) * 64;
    const float mine = __half2float(q[head + d]) * scale;
    float top = -INFINITY, weights = 0.0f, sum = 0.0f;
    for (int t = 0; t < n; ++t) {
        const unsigned short slot = tables[(size_t)s * table_width + t / 16] * 16 + t % 16;
        const size_t row = (((size_t)(slot / 16) * K + h / 2) * 16 + slot % 16) * 64 + d;
        float score = mine * __half2float(keys[row]);
        for (int o = 16; o; o >>= 1) score += __shfl_xor_sync(~0u, score, o);
        if (d % 32 == 0) part[d / 32] = score;
        __syncthreads();
        score = part[0] + part[1];
        __syncthreads();
        const float high = fmaxf(top, score), old = expf(top - high), w = expf(score - high);
        weights = weights * old + w;
        sum = sum * old + w * __half2float(values[row]);
        top = high;
    }
    out[head + d] = __float2half(n ? sum / weights : 0.0f);
}
