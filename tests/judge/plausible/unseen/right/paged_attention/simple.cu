// grid: 2*K S
// block: 64
// // RIGHT
#include <cuda_fp16.h>
__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    __shared__ float red[2];
    int s = blockIdx.y, h = blockIdx.x, d = threadIdx.x, kv = h / 2;
    size_t o = ((size_t)s * 2 * K + h) * 64 + d;
    float qd = __half2float(q[o]);
    float m = -INFINITY, l = 0, acc = 0;
    int n = lengths[s];
    for (int t = 0; t < n; t++) {
        size_t at = (((size_t)tables[(size_t)s * table_width + t / 16] * K + kv) * 16 + t % 16) * 64 + d;
        float p = qd * __half2float(keys[at]);
        for (int b = 16; b; b >>= 1) p += __shfl_xor_sync(~0u, p, b);
        if (d % 32 == 0) red[d / 32] = p;
        __syncthreads();
        p = (red[0] + red[1]) * scale;
        __syncthreads();
        float mn = fmaxf(m, p), a = m == -INFINITY ? 0.f : expf(m - mn), e = expf(p - mn);
        l = l * a + e; acc = acc * a + e * __half2float(values[at]); m = mn;
    }
    out[o] = __float2half(n > 0 ? acc / l : 0.f);
}
