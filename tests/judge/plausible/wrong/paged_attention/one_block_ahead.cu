// grid: 2*K S
// block: 64
// fault: out of bounds
// kinds: out_of_bounds
// The table entry of the next block is fetched ahead, also behind the last one: the last sequence, with a full table, reads
// an entry that is not there.
#include <cuda_fp16.h>
#include <math.h>
__global__ void attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                          __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    int h = blockIdx.x, s = blockIdx.y, d = threadIdx.x, n = lengths[s];
    size_t at = ((size_t)s * 2 * K + h) * 64;
    float m = -INFINITY, l = 0, o = 0;
    int block = n ? tables[s * table_width] : 0, next = 0;
    for (int t = 0; t < n; ++t) {
        if (t % 16 == 0) next = tables[s * table_width + t / 16 + 1];
        size_t row = (((size_t)block * K + h / 2) * 16 + t % 16) * 64;
        float x = 0;
        for (int i = 0; i < 64; ++i) x += __half2float(q[at + i]) * __half2float(keys[row + i]);
        x *= scale;
        float w = fmaxf(m, x), c = expf(m - w), p = expf(x - w);
        l = l * c + p; o = o * c + p * __half2float(values[row + d]); m = w;
        if (t % 16 == 15) block = next;
    }
    out[at + d] = __float2half(n ? o / l : 0.0f);
}
