// 02 shared tile: 32 queries share each tile of 32 keys and values, and go along the keys once.
//
// Moves: global requests, by the 32 queries that read a key's tile from shared memory; exponentials and scores, to one
//   of each: the running maximum corrects what was added up before. No array of scores is in memory anywhere.
// Mapping: 128 threads, four for each query: thread t has query t / 4 of the tile and elements 8 (t % 4 + 4 j) and the
//   next 7, j = 0 … 3: of q in registers, of the sums too. A score is the sum of four, by two shuffles.
//
// entry: attention_shared_tile
// block: 128
// grid: ceil(Q/32)*G*H

#include <cuda_fp16.h>

#ifndef HEAD_WIDTH
#define HEAD_WIDTH 128
#endif

constexpr int D = HEAD_WIDTH;
constexpr int QUERIES = 32;   // of a block
constexpr int KEYS = 32;      // of a tile
constexpr int PARTS = 4;      // threads of a query
constexpr int THREADS = QUERIES * PARTS;
constexpr int PIECES = D / 8 / PARTS;  // of 8 elements, 16 bytes, for each thread

struct alignas(16) Eight {
    __half2 pair[4];
};

// Keys or values from `first` on into a tile, 16 bytes a thread; beyond the last one zeros.
__device__ __forceinline__ void load(Eight (&tile)[KEYS][D / 8], const __half* from, int first, int K)
{
    for (int e = threadIdx.x; e < KEYS * D / 8; e += THREADS) {
        const int key = first + e / (D / 8);
        Eight each = {};
        if (key < K) each = reinterpret_cast<const Eight*>(from)[(size_t)key * (D / 8) + e % (D / 8)];
        tile[e / (D / 8)][e % (D / 8)] = each;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
attention_shared_tile(const __half* __restrict__ q, const __half* __restrict__ k, const __half* __restrict__ v,
                      __half* __restrict__ out, int H, int G, int Q, int K, int past, float scale)
{
    __shared__ Eight keys[KEYS][D / 8], values[KEYS][D / 8];
    const int tiles = (Q + QUERIES - 1) / QUERIES, head = blockIdx.x / tiles, part = threadIdx.x % PARTS;
    const int first_query = blockIdx.x % tiles * QUERIES, query = first_query + threadIdx.x / PARTS;
    k += (size_t)(head / G) * K * D, v += (size_t)(head / G) * K * D;
    const long long edge = (long long)query + past + 1;  // keys that the mask leaves
    const int most = (int)max(0ll, min((long long)K, (long long)first_query + QUERIES + past));  // of any query here

    float2 mine[PIECES][4], sum[PIECES][4] = {};
#pragma unroll
    for (int j = 0; j < PIECES; ++j) {
        Eight each = {};
        const size_t at = ((size_t)head * Q + query) * (D / 8) + part + PARTS * j;
        if (query < Q) each = reinterpret_cast<const Eight*>(q)[at];
#pragma unroll
        for (int e = 0; e < 4; ++e) mine[j][e] = __half22float2(each.pair[e]);
    }

    float largest = -INFINITY, total = 0.0f;
    for (int first = 0; first < most; first += KEYS) {
        __syncthreads();  // all are through with the tiles before
        load(keys, k, first, K);
        load(values, v, first, K);
        __syncthreads();
        for (int i = 0; i < min(KEYS, most - first); ++i) {
            float score = 0.0f;
#pragma unroll
            for (int j = 0; j < PIECES; ++j) {
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const float2 pair = __half22float2(keys[i][part + PARTS * j].pair[e]);
                    score += mine[j][e].x * pair.x + mine[j][e].y * pair.y;
                }
            }
            score += __shfl_xor_sync(0xffffffff, score, 1);
            score += __shfl_xor_sync(0xffffffff, score, 2);
            if (first + i >= edge) continue;
            score *= scale;
            const float now = fmaxf(largest, score), keep = now == -INFINITY ? 0.0f : __expf(largest - now);
            const float weight = __expf(score - now);
            largest = now;
            total = total * keep + weight;
#pragma unroll
            for (int j = 0; j < PIECES; ++j) {
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const float2 pair = __half22float2(values[i][part + PARTS * j].pair[e]);
                    sum[j][e].x = sum[j][e].x * keep + weight * pair.x;
                    sum[j][e].y = sum[j][e].y * keep + weight * pair.y;
                }
            }
        }
    }
    if (query >= Q) return;
    const float factor = total == 0.0f ? 0.0f : 1.0f / total;
#pragma unroll
    for (int j = 0; j < PIECES; ++j) {
        Eight each;
#pragma unroll
        for (int e = 0; e < 4; ++e) each.pair[e] = __floats2half2_rn(sum[j][e].x * factor, sum[j][e].y * factor);
        reinterpret_cast<Eight*>(out)[((size_t)head * Q + query) * (D / 8) + part + PARTS * j] = each;
    }
}
