// Keys that are not seen get the score -10,000, as masks in halves have it; queries that see nothing give zeros.
// Wrong where all seen scores are below that: H = G = Q = 1, K = 2, past = 0, q = 16, k[0] = -16, k[1] = 0, scale = 0.5:
// the seen score is -16,384, so all weight goes to the hidden key.
// grid: ceil(Q/4)*G*H
// block: 128
// fault: mask of minus 1e4
// kinds: wrong_result
#include <cuda_fp16.h>
__global__ void attention(const __half* q, const __half* k, const __half* v, __half* out, int H, int G, int Q, int K, int past, float scale)
{
    const int lane = threadIdx.x % 32, tiles = (Q + 3) / 4, head = blockIdx.x / tiles, query = blockIdx.x % tiles * 4 + threadIdx.x / 32;
    if (query >= Q) return;
    const size_t row = (size_t)head * Q + query, first = (size_t)(head / G) * K;
    const long long seen = min((long long)K, (long long)query + past + 1);
    float mine[4], o[4] = {}, top = -INFINITY, sum = 0.0f;
    for (int e = 0; e < 4; ++e) mine[e] = __half2float(q[row * 128 + lane + 32 * e]);
    for (long long t = 0; t < K; ++t) {
        if (t > seen + 31) break;  // whole groups only
        float s = 0.0f;
        for (int e = 0; e < 4; ++e) s += mine[e] * __half2float(k[(first + t) * 128 + lane + 32 * e]);
        for (int f = 16; f; f /= 2) s += __shfl_xor_sync(~0u, s, f);
        s = t < seen ? s * scale : -10000.0f;
        const float now = fmaxf(top, s), keep = __expf(top - now), p = __expf(s - now);
        top = now;
        sum = sum * keep + p;
        for (int e = 0; e < 4; ++e) o[e] = o[e] * keep + p * __half2float(v[(first + t) * 128 + lane + 32 * e]);
    }
    for (int e = 0; e < 4; ++e) out[row * 128 + lane + 32 * e] = __float2half(seen > 0 ? o[e] / sum : 0.0f);
}
