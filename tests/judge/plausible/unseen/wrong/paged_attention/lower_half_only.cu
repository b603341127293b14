// grid: S 2*K
// block: 32
// fault: mask of a shuffle
// kinds: member_mask
// Sixteen lanes take a token each, two tokens at a time; the upper sixteen name the lower ones' mask in their shuffles. Any length.

#include <cuda_fp16.h>

__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int s = blockIdx.x, h = blockIdx.y, lane = threadIdx.x, half = lane / 16, i = lane % 16, n = lengths[s];
    const size_t head = ((size_t)s * 2 * K + h) * 64;
    float query[4], sum[4] = {}, top = -1e30f, weights = 0.0f;
    for (int j = 0; j < 4; ++j) query[j] = __half2float(q[head + 4 * i + j]) * scale;
    for (int first = 0; first < n; first += 2) {
        const int t = min(first + half, n - 1);
        const size_t row = (((size_t)tables[(size_t)s * table_width + t / 16] * K + h / 2) * 16 + t % 16) * 64 + 4 * i;
        float score = 0.0f;
        for (int j = 0; j < 4; ++j) score += query[j] * __half2float(keys[row + j]);
        if (half == 0) {
            for (int o = 8; o; o >>= 1) score += __shfl_xor_sync(0xffffu, score, o, 16);
        } else {
            for (int o = 8; o; o >>= 1) score += __shfl_xor_sync(0xffffu, score, o, 16);
        }
        if (first + half < n) {
            const float high = fmaxf(top, score), old = expf(top - high), w = expf(score - high);
            weights = weights * old + w;
            for (int j = 0; j < 4; ++j) sum[j] = sum[j] * old + w * __half2float(values[row + j]);
            top = high;
        }
    }
    __syncwarp();
    const float high = fmaxf(top, __shfl_xor_sync(~0u, top, 16)), mine = expf(top - high);
    weights *= mine;
    weights += __shfl_xor_sync(~0u, weights, 16);
    for (int j = 0; j < 4; ++j) {
        sum[j] *= mine;
        sum[j] += __shfl_xor_sync(~0u, sum[j], 16);
        if (half == 0) out[head + 4 * i + j] = __float2half(n ? sum[j] / weights : 0.0f);
    }
}
