// grid: 2*K S
// block: 64
// shared: 4*16*table_width
// All scores in dynamic shared memory, then maximum, weights and their sum, then the values.
#include <cuda_fp16.h>
__global__ void attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                          __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    extern __shared__ float p[];
    const int h = blockIdx.x, s = blockIdx.y, d = threadIdx.x, n = lengths[s];
    const size_t at = ((size_t)s * 2 * K + h) * 64;
    const int* table = tables + (size_t)s * table_width;
    for (int t = d; t < n; t += 64) {
        const __half* key = keys + (((size_t)table[t / 16] * K + h / 2) * 16 + t % 16) * 64;
        float x = 0;
        for (int i = 0; i < 64; ++i) x += __half2float(q[at + i]) * __half2float(key[i]);
        p[t] = x * scale;
    }
    __syncthreads();
    float m = -INFINITY, l = 0, o = 0;
    for (int t = 0; t < n; ++t) m = fmaxf(m, p[t]);
    for (int t = 0; t < n; ++t) {
        const float w = expf(p[t] - m);
        l += w;
        o += w * __half2float(values[(((size_t)table[t / 16] * K + h / 2) * 16 + t % 16) * 64 + d]);
    }
    out[at + d] = __float2half(n ? o / l : 0.0f);
}
