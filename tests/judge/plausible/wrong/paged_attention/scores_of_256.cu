// grid: 2*K S
// block: 64
// fault: fixed count
// kinds: out_of_bounds race uninitialised_read wrong_result
// The scores of a sequence lie in a shared array of 256: sequences of more tokens run over it.
#include <cuda_fp16.h>
#include <math.h>
__global__ void attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                          __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    __shared__ float p[256];
    int h = blockIdx.x, s = blockIdx.y, d = threadIdx.x, n = lengths[s];
    size_t at = ((size_t)s * 2 * K + h) * 64;
    auto row = [&](int t) { return (((size_t)tables[s * table_width + t / 16] * K + h / 2) * 16 + t % 16) * 64; };
    for (int t = d; t < n; t += 64) {
        float x = 0;
        for (int i = 0; i < 64; ++i) x += __half2float(q[at + i]) * __half2float(keys[row(t) + i]);
        p[t] = x * scale;
    }
    __syncthreads();
    float m = -INFINITY, l = 0, o = 0;
    for (int t = 0; t < n; ++t) m = fmaxf(m, p[t]);
    for (int t = 0; t < n; ++t) {
        float w = expf(p[t] - m);
        l += w;
        o += w * __half2float(values[row(t) + d]);
    }
    out[at + d] = __float2half(n ? o / l : 0.0f);
}
