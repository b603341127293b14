// 01 thread per query: one thread goes along the keys twice, for the largest score and for the sums.
//
// Moves: nothing yet. Each multiply-add asks for an element of a key, the same for all lanes, and for one of q, in rows
//   that lie 256 bytes apart: a sector for each lane. Each score is made twice.
// Mapping: thread t of block (tile, head) has query 128 tile + t of its head, and all of its elements.
//
// entry: attention_thread_per_query
// block: 128
// grid: ceil(Q/128)*G*H

#include <cuda_fp16.h>

#ifndef HEAD_WIDTH
#define HEAD_WIDTH 128
#endif

constexpr int D = HEAD_WIDTH;
constexpr int THREADS = 128;

__device__ __forceinline__ float score(const __half* q, const __half* k, float scale)
{
    float sum = 0.0f;
    for (int d = 0; d < D; ++d) sum += __half2float(q[d]) * __half2float(k[d]);
    return sum * scale;
}

extern "C" __global__ void attention_thread_per_query(const __half* q, const __half* k, const __half* v, __half* out,
                                                      int H, int G, int Q, int K, int past, float scale)
{
    const int tiles = (Q + THREADS - 1) / THREADS, head = blockIdx.x / tiles;
    const int query = blockIdx.x % tiles * THREADS + threadIdx.x;
    if (query >= Q) return;
    const size_t row = (size_t)head * Q + query;
    q += row * D, out += row * D;
    k += (size_t)(head / G) * K * D, v += (size_t)(head / G) * K * D;
    const int seen = (int)max(0ll, min((long long)K, query + (long long)past + 1));

    float largest = -INFINITY;
    for (int key = 0; key < seen; ++key) largest = fmaxf(largest, score(q, k + (size_t)key * D, scale));

    float total = 0.0f, sum[D];
    for (int d = 0; d < D; ++d) sum[d] = 0.0f;
    for (int key = 0; key < seen; ++key) {
        const float weight = __expf(score(q, k + (size_t)key * D, scale) - largest);
        total += weight;
        for (int d = 0; d < D; ++d) sum[d] += weight * __half2float(v[(size_t)key * D + d]);
    }
    for (int d = 0; d < D; ++d) out[d] = __float2half(seen ? sum[d] / total : 0.0f);
}
