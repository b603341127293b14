// 03 warp tile: a warp has eight queries; lanes are keys for the scores, and elements for the sums.
//
// Moves: instructions. What a lane reads of a key or a value serves eight queries; the maximum is looked for and the
//   sums are corrected once for 32 keys and not for each; a score needs no shuffles, since one lane makes all of it.
// Mapping: 4 warps of 8 queries. Scores: lane l has key l of a tile of 32 and all elements, q comes from shared memory
//   to all lanes at once. Sums: lane l has 4 elements from 4 l on (2 from 2 l on of a head of 64), of each of the eight
//   queries; weights go from lane to lane by shuffles. Rows of a tile of keys are 16 bytes longer than a head, so that
//   lanes read other banks.
//
// entry: attention_warp_tile
// block: 128
// grid: ceil(Q/32)*G*H

#include <cuda_fp16.h>

#ifndef HEAD_WIDTH
#define HEAD_WIDTH 128
#endif

constexpr int D = HEAD_WIDTH;
constexpr int WARPS = 4;
constexpr int THREADS = 32 * WARPS;
constexpr int ROWS = 8;              // queries of a warp
constexpr int QUERIES = WARPS * ROWS;
constexpr int KEYS = 32;             // of a tile
constexpr int EIGHTS = D / 8;        // of 16 bytes, of a row
constexpr int PAIRS = D / 64;        // elements of a lane, two at a time

struct alignas(16) Eight {
    __half2 pair[4];
};

struct alignas(4 * PAIRS) Lane {
    __half2 pair[PAIRS];
};

// Rows from `first` on into a tile, 16 bytes a thread; beyond the last one zeros.
template <int HEIGHT, int PITCH>
__device__ __forceinline__ void load(Eight (&tile)[HEIGHT][PITCH], const __half* from, int first, int rows)
{
    for (int e = threadIdx.x; e < HEIGHT * EIGHTS; e += THREADS) {
        const int row = first + e / EIGHTS;
        Eight each = {};
        if (row < rows) each = reinterpret_cast<const Eight*>(from)[(size_t)row * EIGHTS + e % EIGHTS];
        tile[e / EIGHTS][e % EIGHTS] = each;
    }
}

__device__ __forceinline__ float largest_of_warp(float value)
{
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, step));
    return value;
}

__device__ __forceinline__ float sum_of_warp(float value)
{
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
    return value;
}

extern "C" __global__ void __launch_bounds__(THREADS)
attention_warp_tile(const __half* __restrict__ q, const __half* __restrict__ k, const __half* __restrict__ v,
                    __half* __restrict__ out, int H, int G, int Q, int K, int past, float scale)
{
    __shared__ Eight queries[QUERIES][EIGHTS], keys[KEYS][EIGHTS + 1], values[KEYS][EIGHTS];
    const int tiles = (Q + QUERIES - 1) / QUERIES, head = blockIdx.x / tiles, lane = threadIdx.x % 32;
    const int first_query = blockIdx.x % tiles * QUERIES, mine = threadIdx.x / 32 * ROWS;
    k += (size_t)(head / G) * K * D, v += (size_t)(head / G) * K * D;
    const int most = (int)max(0ll, min((long long)K, (long long)first_query + QUERIES + past));  // of any query here
    load(queries, q + (size_t)head * Q * D, first_query, Q);

    float largest[ROWS], total[ROWS] = {};  // the total of this lane's keys only
    float2 sum[ROWS][PAIRS] = {};
#pragma unroll
    for (int r = 0; r < ROWS; ++r) largest[r] = -INFINITY;
    for (int first = 0; first < most; first += KEYS) {
        __syncthreads();  // all are through with the tiles before
        load(keys, k, first, K);
        load(values, v, first, K);
        __syncthreads();

        float score[ROWS] = {};
#pragma unroll 2
        for (int c = 0; c < EIGHTS; ++c) {
            const Eight key = keys[lane][c];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const Eight query = queries[mine + r][c];
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const float2 a = __half22float2(query.pair[e]), b = __half22float2(key.pair[e]);
                    score[r] += a.x * b.x + a.y * b.y;
                }
            }
        }
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const long long edge = (long long)first_query + mine + r + past;
            const bool seen = first + lane < K && first + lane <= edge;
            score[r] = seen ? score[r] * scale : -INFINITY;
            const float now = fmaxf(largest[r], largest_of_warp(score[r])), down = now == -INFINITY ? 0.0f : now;
            const float keep = __expf(largest[r] - down);
            largest[r] = now;
            score[r] = __expf(score[r] - down);  // from here on the weight
            total[r] = total[r] * keep + score[r];
#pragma unroll
            for (int p = 0; p < PAIRS; ++p) sum[r][p].x *= keep, sum[r][p].y *= keep;
        }
#pragma unroll 4
        for (int i = 0; i < KEYS; ++i) {
            const Lane halves = reinterpret_cast<const Lane*>(values[i])[lane];
            float2 value[PAIRS];
#pragma unroll
            for (int p = 0; p < PAIRS; ++p) value[p] = __half22float2(halves.pair[p]);
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const float weight = __shfl_sync(0xffffffff, score[r], i);
#pragma unroll
                for (int p = 0; p < PAIRS; ++p) sum[r][p].x += weight * value[p].x, sum[r][p].y += weight * value[p].y;
            }
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const int query = first_query + mine + r;
        const float whole = sum_of_warp(total[r]), factor = whole == 0.0f ? 0.0f : 1.0f / whole;
        if (query >= Q) continue;
        Lane each;
#pragma unroll
        for (int p = 0; p < PAIRS; ++p) each.pair[p] = __floats2half2_rn(sum[r][p].x * factor, sum[r][p].y * factor);
        reinterpret_cast<Lane*>(out + ((size_t)head * Q + query) * D)[lane] = each;
    }
}
