// grid: ceil(S*2*K/33)
// block: 33
// A thread per head, in float64, with an array of 64 sums of its own.
#include <cuda_fp16.h>
__global__ void attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                          __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int head = blockIdx.x * 33 + threadIdx.x;
    if (head >= S * 2 * K) return;
    const int s = head / (2 * K), kv = head % (2 * K) / 2;
    const __half* query = q + (size_t)head * 64;
    double m = -1e300, l = 0, o[64] = {};
    for (int t = 0; t < lengths[s]; ++t) {
        const size_t row = (((size_t)tables[(size_t)s * table_width + t / 16] * K + kv) * 16 + t % 16) * 64;
        double x = 0;
        for (int i = 0; i < 64; ++i) x += (double)__half2float(query[i]) * __half2float(keys[row + i]);
        x *= scale;
        if (x > m) {
            const double c = exp(m - x);
            l *= c;
            for (int i = 0; i < 64; ++i) o[i] *= c;
            m = x;
        }
        const double p = exp(x - m);
        l += p;
        for (int i = 0; i < 64; ++i) o[i] += p * __half2float(values[row + i]);
    }
    for (int i = 0; i < 64; ++i) out[(size_t)head * 64 + i] = __float2half(l > 0 ? (float)(o[i] / l) : 0.0f);
}
