// grid: 2*K S
// block: 64
// fault: precision
// kinds: wrong_result
// The sum of weights is a half: from 2,048 equal ones on it stands still, and long before that it is coarse.
#include <cuda_fp16.h>
#include <math.h>
__global__ void attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                          __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    int h = blockIdx.x, s = blockIdx.y, d = threadIdx.x, n = lengths[s];
    size_t at = ((size_t)s * 2 * K + h) * 64;
    float m = -INFINITY;
    __half l = __float2half(0.0f), o = l;
    for (int t = 0; t < n; ++t) {
        size_t row = (((size_t)tables[s * table_width + t / 16] * K + h / 2) * 16 + t % 16) * 64;
        float x = 0;
        for (int i = 0; i < 64; ++i) x += __half2float(q[at + i]) * __half2float(keys[row + i]);
        x *= scale;
        float w = fmaxf(m, x);
        __half c = __float2half(expf(m - w)), p = __float2half(expf(x - w));
        l = __hfma(l, c, p);
        o = __hfma(p, values[row + d], __hmul(o, c));
        m = w;
    }
    out[at + d] = n ? __hdiv(o, l) : __float2half(0.0f);
}
