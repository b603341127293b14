// grid: S 2*K
// block: 64
// fault: values
// kinds: wrong_result
// The largest score begins at 0: where all are some -200 every weight is 0, and 0 / 0 is NaN.

#include <cuda_fp16.h>

__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int s = blockIdx.x, h = blockIdx.y, kv = h / 2, d = threadIdx.x, n = lengths[s];
    __shared__ float part[2][2];
    const float mine = __half2float(q[((size_t)s * 2 * K + h) * 64 + d]) * scale;
    float top = 0.0f, weights = 0.0f, sum = 0.0f;
    for (int t = 0; t < n; ++t) {
        const size_t row = (((size_t)tables[(size_t)s * table_width + t / 16] * K + kv) * 16 + t % 16) * 64;
        float score = mine * __half2float(keys[row + d]);
        for (int o = 16; o; o >>= 1) score += __shfl_xor_sync(~0u, score, o);
        if (d % 32 == 0) part[t & 1][d / 32] = score;
        __syncthreads();
        score = part[t & 1][0] + part[t & 1][1];
        const float high = fmaxf(top, score), old = expf(top - high), w = expf(score - high);
        weights = weights * old + w;
        sum = sum * old + w * __half2float(values[row + d]);
        top = high;
    }
    out[((size_t)s * 2 * K + h) * 64 + d] = __float2half(n > 0 ? sum / weights : 0.0f);
}
