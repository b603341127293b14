// grid: 1
// block: 32
// One warp for all heads of all sequences.
#include <cuda_fp16.h>
__global__ void attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                          __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int lane = threadIdx.x;
    for (int head = 0; head < S * 2 * K; ++head) {
        const int s = head / (2 * K), kv = head % (2 * K) / 2;
        const size_t at = (size_t)head * 64;
        float m = -1e30f, l = 0, o0 = 0, o1 = 0;
        for (int t = 0; t < lengths[s]; ++t) {
            const size_t row = (((size_t)tables[(size_t)s * table_width + t / 16] * K + kv) * 16 + t % 16) * 64;
            float x = __half2float(q[at + lane]) * __half2float(keys[row + lane]);
            x += __half2float(q[at + lane + 32]) * __half2float(keys[row + lane + 32]);
            for (int k = 16; k; k >>= 1) x += __shfl_xor_sync(~0u, x, k);
            x *= scale;
            const float w = fmaxf(m, x), c = expf(m - w), p = expf(x - w);
            l = l * c + p;
            o0 = o0 * c + p * __half2float(values[row + lane]);
            o1 = o1 * c + p * __half2float(values[row + lane + 32]);
            m = w;
        }
        out[at + lane] = __float2half(l > 0.0f ? o0 / l : 0.0f);
        out[at + lane + 32] = __float2half(l > 0.0f ? o1 / l : 0.0f);
    }
}
