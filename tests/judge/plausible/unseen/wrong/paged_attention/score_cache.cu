// grid: S 2*K
// block: 64
// fault: fixed score cache
// kinds: out_of_bounds wrong_result
// Scores are kept in shared memory for 4096 tokens, and a table of 300 blocks holds 4800.
#include <cuda_fp16.h>
__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    __shared__ float p[4096];
    __shared__ float query[64];
    __shared__ float top, total;
    int s = blockIdx.x, head = blockIdx.y, d = threadIdx.x, n = lengths[s];
    const int* table = tables + (size_t)s * table_width;
    query[d] = __half2float(q[((size_t)s * 2 * K + head) * 64 + d]);
    __syncthreads();
    for (int t = d; t < n; t += 64) {
        const __half* key = keys + (((size_t)table[t / 16] * K + head / 2) * 16 + t % 16) * 64;
        float v = 0;
        for (int e = 0; e < 64; ++e) v += query[e] * __half2float(key[e]);
        p[t] = v * scale;
    }
    __syncthreads();
    if (d == 0) {
        top = -INFINITY;
        for (int t = 0; t < n; ++t) top = fmaxf(top, p[t]);
        total = 0;
        for (int t = 0; t < n; ++t) total += p[t] = expf(p[t] - top);
    }
    __syncthreads();
    float o = 0;
    for (int t = 0; t < n; ++t)
        o += p[t] * __half2float(values[(((size_t)table[t / 16] * K + head / 2) * 16 + t % 16) * 64 + d]);
    out[((size_t)s * 2 * K + head) * 64 + d] = __float2half(n ? o / total : 0.0f);
}
