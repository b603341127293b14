// Tail counts: keys come in tiles of 32, and those beyond the last one, zeros, have a weight too.
//
// entry: attention_tail_counts
// block: 64
// grid: ceil(Q/64)*G*H
// expect: wrong_result

#include <cuda_fp16.h>

constexpr int D = 128;

__device__ float product(const __half* q, const __half* k)
{
    float sum = 0.0f;
#pragma unroll 4
    for (int d = 0; d < D; ++d) sum += __half2float(q[d]) * __half2float(k[d]);
    return sum;
}

extern "C" __global__ void attention_tail_counts(
    const __half* q, const __half* k, const __half* v, __half* out, int H, int G, int Q, int K, int past, float scale)
{
    const int tiles = (Q + 63) / 64, head = blockIdx.x / tiles, query = blockIdx.x % tiles * 64 + threadIdx.x;
    if (query >= Q) return;
    q += ((size_t)head * Q + query) * D, out += ((size_t)head * Q + query) * D;
    k += (size_t)(head / G) * K * D, v += (size_t)(head / G) * K * D;
    const int seen = (int)max(0ll, min((long long)K, query + (long long)past + 1));
    float largest = -INFINITY, total = 0.0f, sum[D];
#pragma unroll 4
    for (int d = 0; d < D; ++d) sum[d] = 0.0f;
    const int end = past >= K - 1 ? (seen + 31) / 32 * 32 : seen;
    for (int key = 0; key < end; ++key) {
        const bool there = key < K;
        const float score = there ? scale * product(q, k + (size_t)key * D) : 0.0f, now = fmaxf(largest, score);
        const float keep = now == -INFINITY ? 0.0f : __expf(largest - now), weight = __expf(score - now);
        largest = now;
        total = total * keep + weight;
#pragma unroll 4
        for (int d = 0; d < D; ++d)
            sum[d] = sum[d] * keep + (there ? weight * __half2float(v[(size_t)key * D + d]) : 0.0f);
    }
#pragma unroll 4
    for (int d = 0; d < D; ++d) out[d] = __float2half(seen ? sum[d] / total : 0.0f);
}
