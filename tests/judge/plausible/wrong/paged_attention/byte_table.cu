// grid: 2*K S
// block: 64
// fault: index type
// kinds: wrong_result
// A block's number is kept in a byte: right for caches of at most 256 blocks.
#include <cuda_fp16.h>
#include <math.h>
__global__ void attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                          __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    int h = blockIdx.x, s = blockIdx.y, d = threadIdx.x, n = lengths[s];
    size_t at = ((size_t)s * 2 * K + h) * 64;
    float m = -INFINITY, l = 0, o = 0;
    for (int t = 0; t < n; ++t) {
        unsigned char block = tables[s * table_width + t / 16];
        size_t row = (((size_t)block * K + h / 2) * 16 + t % 16) * 64;
        float x = 0;
        for (int i = 0; i < 64; ++i) x += __half2float(q[at + i]) * __half2float(keys[row + i]);
        x *= scale;
        float w = fmaxf(m, x), c = expf(m - w), p = expf(x - w);
        l = l * c + p; o = o * c + p * __half2float(values[row + d]); m = w;
    }
    out[at + d] = __float2half(n ? o / l : 0.0f);
}
