// grid: 2*K S
// block: 32
// fault: value range
// kinds: wrong_result
// The running maximum begins at 0: where all scores lie far below it every weight underflows, and 0 / 0 is left.
#include <cuda_fp16.h>
__global__ void attend(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                       __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    int h = blockIdx.x, s = blockIdx.y, lane = threadIdx.x, n = lengths[s];
    size_t at = ((size_t)s * 2 * K + h) * 64;
    float q0 = __half2float(q[at + lane]), q1 = __half2float(q[at + lane + 32]);
    float top = 0.0f, sum = 0, o0 = 0, o1 = 0;
    for (int t = 0; t < n; ++t) {
        size_t row = (((size_t)tables[s * table_width + t / 16] * K + h / 2) * 16 + t % 16) * 64;
        float score = q0 * __half2float(keys[row + lane]) + q1 * __half2float(keys[row + lane + 32]);
        for (int k = 16; k; k >>= 1) score += __shfl_xor_sync(~0u, score, k);
        score *= scale;
        float m = fmaxf(top, score), c = __expf(top - m), p = __expf(score - m);
        sum = sum * c + p;
        o0 = o0 * c + p * __half2float(values[row + lane]);
        o1 = o1 * c + p * __half2float(values[row + lane + 32]);
        top = m;
    }
    out[at + lane] = __float2half(n ? o0 / sum : 0.0f);
    out[at + lane + 32] = __float2half(n ? o1 / sum : 0.0f);
}
