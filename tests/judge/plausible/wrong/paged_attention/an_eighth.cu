// grid: ceil(S*K/4)
// block: 64 4
// fault: wrong formula
// kinds: wrong_result
// The scale is 1 / sqrt(64) in the code, and the parameter is not read: wrong for any scale but 1/8.
#include <cuda_fp16.h>
#include <math.h>
__global__ void attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                          __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    int pair = blockIdx.x * 4 + threadIdx.y, d = threadIdx.x;
    if (pair >= S * K) return;
    int s = pair / K, kv = pair % K;
    for (int g = 0; g < 2; ++g) {
        size_t at = ((size_t)s * 2 * K + 2 * kv + g) * 64;
        float m = -INFINITY, l = 0, o = 0;
        for (int t = 0; t < lengths[s]; ++t) {
            size_t row = (((size_t)tables[s * table_width + t / 16] * K + kv) * 16 + t % 16) * 64;
            float x = 0;
            for (int i = 0; i < 64; ++i) x += __half2float(q[at + i]) * __half2float(keys[row + i]);
            x *= 0.125f;
            float n = fmaxf(m, x), c = __expf(m - n), p = __expf(x - n);
            l = l * c + p;
            o = o * c + p * __half2float(values[row + d]);
            m = n;
        }
        out[at + d] = __float2half(l > 0 ? o / l : 0.f);
    }
}
