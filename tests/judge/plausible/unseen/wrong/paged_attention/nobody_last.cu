// grid: S 2*K 3
// block: 64
// fault: arrival looked at, then counted
// kinds: unrepeatable wrong_result
// Three blocks share a sequence's tokens; each looks how many have arrived and counts itself afterwards: two may
// both see one, and nobody joins the parts.
#include <cuda_fp16.h>
__device__ unsigned came[1 << 16];
__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    __shared__ float query[64], s[64];
    __shared__ bool last;
    int seq = blockIdx.x, head = blockIdx.y, part = blockIdx.z, d = threadIdx.x, n = lengths[seq];
    const int* table = tables + (size_t)seq * table_width;
    size_t row = (size_t)seq * 2 * K + head;
    float* mine = partial + (row * 3 + part) * 66;
    query[d] = __half2float(q[row * 64 + d]);
    __syncthreads();
    int each = (n + 2) / 3, begin = min(n, part * each), end = min(n, begin + each);
    float m = -INFINITY, sum = 0, o = 0;
    for (int t0 = begin; t0 < end; t0 += 64) {
        int t = t0 + d;
        if (t < end) {
            const __half* key = keys + (((size_t)table[t / 16] * K + head / 2) * 16 + t % 16) * 64;
            float v = 0;
            for (int e = 0; e < 64; ++e) v += query[e] * __half2float(key[e]);
            s[d] = v * scale;
        }
        __syncthreads();
        for (int e = 0; e < min(64, end - t0); ++e) {
            int u = t0 + e;
            float top = fmaxf(m, s[e]), old = expf(m - top), p = expf(s[e] - top);
            sum = sum * old + p;
            o = o * old + p * __half2float(values[(((size_t)table[u / 16] * K + head / 2) * 16 + u % 16) * 64 + d]);
            m = top;
        }
        __syncthreads();
    }
    mine[2 + d] = o;
    if (d == 0) mine[0] = m, mine[1] = sum;
    __threadfence();
    __syncthreads();
    if (d == 0) {
        last = atomicAdd(&came[row], 0u) == 2;
        if (last) atomicExch(&came[row], 0u);
        else atomicAdd(&came[row], 1u);
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    const float* all = partial + row * 3 * 66;
    float top = fmaxf(all[0], fmaxf(all[66], all[132])), total = 0, result = 0;
    for (int k = 0; k < 3; ++k) {
        if (all[66 * k + 1] == 0) continue;
        float f = expf(all[66 * k] - top);
        total += all[66 * k + 1] * f;
        result += all[66 * k + 2 + d] * f;
    }
    out[row * 64 + d] = __float2half(n ? result / total : 0.0f);
}
