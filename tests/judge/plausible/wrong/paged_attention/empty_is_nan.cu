// grid: 2*K S
// block: 64
// fault: empty sizes
// kinds: wrong_result
// Divides by the sum of weights without a look whether there is one: a sequence of no tokens gives NaN.
#include <cuda_fp16.h>
__global__ void attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                          __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int h = blockIdx.x, s = blockIdx.y, d = threadIdx.x;
    const __half* query = q + ((size_t)s * 2 * K + h) * 64;
    float m = -1e30f, l = 0.0f, o = 0.0f;
    for (int t = 0; t < lengths[s]; ++t) {
        size_t row = (((size_t)tables[s * table_width + t / 16] * K + h / 2) * 16 + t % 16) * 64;
        float x = 0;
        for (int i = 0; i < 64; ++i) x += __half2float(query[i]) * __half2float(keys[row + i]);
        x *= scale;
        float n = fmaxf(m, x), c = expf(m - n), p = expf(x - n);
        l = l * c + p;
        o = o * c + p * __half2float(values[row + d]);
        m = n;
    }
    out[((size_t)s * 2 * K + h) * 64 + d] = __float2half(o / l);
}
