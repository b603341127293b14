// grid: ceil(Q/4) H*G
// block: 32 4
// fault: past overflows
// kinds: wrong_result
// "No mask" may be past = INT_MAX: i + past is below zero then, and the query sees no key at all.
#include <cuda_fp16.h>
__global__ void attention(const __half* q, const __half* k, const __half* v, __half* out, int H, int G, int Q, int K, int past, float scale)
{
    int i = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x;
    if (i >= Q) return;
    size_t head = blockIdx.y, kv = head / G;
    float a[4], o[4] = {0, 0, 0, 0}, m = -INFINITY, sum = 0;
    for (int d = 0; d < 4; ++d) a[d] = __half2float(q[(head * Q + i) * 128 + d * 32 + lane]);
    for (int j = 0; j < K; ++j) {
        if (j > i + past) break;
        const __half* key = k + (kv * K + j) * 128;
        float s = 0;
        for (int d = 0; d < 4; ++d) s += a[d] * __half2float(key[d * 32 + lane]);
        for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
        s *= scale;
        float top = fmaxf(m, s), old = expf(m - top), p = expf(s - top);
        sum = sum * old + p;
        for (int d = 0; d < 4; ++d) o[d] = o[d] * old + p * __half2float(v[(kv * K + j) * 128 + d * 32 + lane]);
        m = top;
    }
    for (int d = 0; d < 4; ++d)
        out[(head * Q + i) * 128 + d * 32 + lane] = __float2half(i + past >= 0 && K > 0 ? o[d] / sum : 0.0f);
}
