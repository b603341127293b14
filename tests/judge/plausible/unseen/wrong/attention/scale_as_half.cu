// Queries are scaled once, in halves, before the products.
// Wrong: q * scale is rounded (2^-11 of a score), and scale = 1e-6 with q = 0.01 is 0, scale = 1e5 infinite.
// grid: ceil(Q/64)*G*H
// block: 64
// fault: scale as half
// kinds: wrong_result
#include <cuda_fp16.h>
__global__ void attention(const __half* q, const __half* k, const __half* v, __half* out, int H, int G, int Q, int K,
                          int past, float scale)
{
    const int tiles = (Q + 63) / 64, head = blockIdx.x / tiles, query = blockIdx.x % tiles * 64 + threadIdx.x;
    if (query >= Q) return;
    const __half* mine = q + ((size_t)head * Q + query) * 128;
    const __half* keys = k + (size_t)(head / G) * K * 128;
    const __half* values = v + (size_t)(head / G) * K * 128;
    const __half sc = __float2half(scale);
    const int seen = (int)max(0ll, min((long long)K, (long long)query + past + 1));
    float top = -INFINITY, sum = 0.0f, o[128];
    for (int d = 0; d < 128; ++d) o[d] = 0.0f;
    for (int key = 0; key < seen; ++key) {
        float s = 0.0f;
        for (int d = 0; d < 128; ++d) s += __half2float(__hmul(mine[d], sc)) * __half2float(keys[(size_t)key * 128 + d]);
        const float now = fmaxf(top, s), keep = __expf(top - now), p = __expf(s - now);
        top = now; sum = sum * keep + p;
        for (int d = 0; d < 128; ++d) o[d] = o[d] * keep + p * __half2float(values[(size_t)key * 128 + d]);
    }
    for (int d = 0; d < 128; ++d) out[((size_t)head * Q + query) * 128 + d] = __float2half(seen > 0 ? o[d] / sum : 0.0f);
}
