// Missing barrier: the next tile is stored while other warps still read the one before.
//
// entry: attention_missing_barrier
// block: 64
// grid: ceil(Q/64)*G*H
// expect: race

#include <cuda_fp16.h>

constexpr int D = 128, KEYS = 16;

extern "C" __global__ void attention_missing_barrier(
    const __half* q, const __half* k, const __half* v, __half* out, int H, int G, int Q, int K, int past, float scale)
{
    __shared__ alignas(16) __half keys[KEYS][D], values[KEYS][D];
    const int tiles = (Q + 63) / 64, head = blockIdx.x / tiles, query = blockIdx.x % tiles * 64 + threadIdx.x;
    const size_t row = (size_t)head * Q + min(query, Q - 1);
    k += (size_t)(head / G) * K * D, v += (size_t)(head / G) * K * D;
    const long long edge = (long long)query + past;
    float largest = -INFINITY, total = 0.0f, sum[D];
#pragma unroll 4
    for (int d = 0; d < D; ++d) sum[d] = 0.0f;
    for (int first = 0; first < K; first += KEYS) {
        for (int e = threadIdx.x * 8; e < KEYS * D; e += 64 * 8) {
            const size_t at = (size_t)min(first + e / D, K - 1) * D + e % D;
            *reinterpret_cast<uint4*>(&keys[0][0] + e) = *reinterpret_cast<const uint4*>(k + at);  // <- here
            *reinterpret_cast<uint4*>(&values[0][0] + e) = *reinterpret_cast<const uint4*>(v + at);  // <- here
        }
        __syncthreads();
        for (int i = 0; i < KEYS && first + i < K && first + i <= edge; ++i) {
            float score = 0.0f;
#pragma unroll 4
            for (int d = 0; d < D; ++d) score += __half2float(q[row * D + d]) * __half2float(keys[i][d]);  // <- here
            const float now = fmaxf(largest, score * scale), weight = __expf(score * scale - now);
            const float keep = now == -INFINITY ? 0.0f : __expf(largest - now);
            largest = now;
            total = total * keep + weight;
#pragma unroll 4
        for (int d = 0; d < D; ++d) sum[d] = sum[d] * keep + weight * __half2float(values[i][d]);  // <- here
        }
    }
    if (query >= Q) return;
#pragma unroll 4
    for (int d = 0; d < D; ++d) out[row * D + d] = __float2half(total == 0.0f ? 0.0f : sum[d] / total);
}
