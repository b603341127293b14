// 02 shared tile: 32 keys go along tiles of 32 queries, and what is made of the two is made once for all three sums.
//
// Moves: global requests, since a tile is read once for 32 rows; instructions, by five products instead of seven. dq is
//   shared by blocks that have different keys: they add to it atomically.
// Mapping: 128 threads. Of the weights and slopes [query][key] thread t has key t % 32 and queries t / 32 + 4 i; of the
//   sums then row t / 4 (a key of dk and dv, a query of dq) and elements 2 (t % 4) + 8 j and the next. A block's sums
//   of dk and dv stay in registers until the last query of the group.
//
// entry: attention_backward_shared_tile
// block: 128
// grid: ceil(K/32)*H
// shared: 4*32*(128+2)*2+2*32*33*4

#include <cuda_fp16.h>

#ifndef HEAD_WIDTH
#define HEAD_WIDTH 128
#endif

constexpr int D = HEAD_WIDTH;
constexpr int QUERIES = 32;      // of a tile
constexpr int KEYS = 32;         // of a block
constexpr int THREADS = 128;
constexpr int PAIRS = D / 2;
constexpr int LINE = PAIRS + 1;  // one more: rows begin in different banks
constexpr int PARTS = 4;         // threads of a row of sums

typedef __half2 Tile[QUERIES][LINE];

// Rows from `first` on; beyond the last one zeros.
__device__ __forceinline__ void load(Tile& tile, const __half* from, int first, int rows)
{
    for (int e = threadIdx.x; e < QUERIES * PAIRS; e += THREADS) {
        const int r = e / PAIRS, c = e % PAIRS;
        __half2 pair = __floats2half2_rn(0.0f, 0.0f);
        if (first + r < rows) pair = reinterpret_cast<const __half2*>(from)[(size_t)(first + r) * PAIRS + c];
        tile[r][c] = pair;
    }
}

__device__ __forceinline__ float product(const __half2 (&a)[LINE], const __half2 (&b)[LINE])
{
    float sum = 0.0f;
#pragma unroll 8
    for (int c = 0; c < PAIRS; ++c) {
        const float2 x = __half22float2(a[c]), y = __half22float2(b[c]);
        sum += x.x * y.x + x.y * y.y;
    }
    return sum;
}

// Adds `factor` times this thread's part of a row to its sums.
__device__ __forceinline__ void add(float2 (&sum)[PAIRS / PARTS], float factor, const __half2 (&row)[LINE], int part)
{
#pragma unroll
    for (int j = 0; j < PAIRS / PARTS; ++j) {
        const float2 pair = __half22float2(row[part + PARTS * j]);
        sum[j].x += factor * pair.x, sum[j].y += factor * pair.y;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
attention_backward_shared_tile(
    const __half* __restrict__ q, const __half* __restrict__ k, const __half* __restrict__ v,
    const __half* __restrict__ dout, const float* __restrict__ lse, const float* __restrict__ delta,
    float* __restrict__ dq, __half* __restrict__ dk, __half* __restrict__ dv,
    int H, int G, int Q, int K, int past, float scale)
{
    extern __shared__ __align__(16) unsigned char memory[];
    Tile* tiles = reinterpret_cast<Tile*>(memory);
    Tile &queries = tiles[0], &slopes = tiles[1], &keys = tiles[2], &values = tiles[3];
    float(*weight)[KEYS + 1] = reinterpret_cast<float(*)[KEYS + 1]>(tiles + 4);
    float(*ds)[KEYS + 1] = weight + QUERIES;

    const int blocks = (K + KEYS - 1) / KEYS, head = blockIdx.x / blocks, first_key = blockIdx.x % blocks * KEYS;
    const int row = threadIdx.x / PARTS, part = threadIdx.x % PARTS, key = threadIdx.x % KEYS;
    load(keys, k + (size_t)head * K * D, first_key, K);
    load(values, v + (size_t)head * K * D, first_key, K);
    const long long edge = (long long)first_key + key - past;  // the first query that sees this thread's key
    const int begin = (int)max(0ll, min((long long)Q, (long long)first_key - past)) / QUERIES * QUERIES;

    float2 sum_k[PAIRS / PARTS] = {}, sum_v[PAIRS / PARTS] = {};
    for (int g = head * G; g < (head + 1) * G; ++g) {
        const size_t start = (size_t)g * Q;
        for (int first = begin; first < Q; first += QUERIES) {
            __syncthreads();  // all are through with the tile before
            load(queries, q + start * D, first, Q);
            load(slopes, dout + start * D, first, Q);
            __syncthreads();
            for (int i = threadIdx.x / KEYS; i < QUERIES; i += THREADS / KEYS) {
                const int query = first + i;
                float p = 0.0f, slope = 0.0f;
                if (query < Q && query >= edge && first_key + key < K) {
                    p = __expf(scale * product(queries[i], keys[key]) - lse[start + query]);
                    slope = p * (product(slopes[i], values[key]) - delta[start + query]);
                }
                weight[i][key] = p, ds[i][key] = slope;
            }
            __syncthreads();
            float2 sum_q[PAIRS / PARTS] = {};
            for (int i = 0; i < QUERIES; ++i) {
                add(sum_v, weight[i][row], slopes[i], part);
                add(sum_k, ds[i][row], queries[i], part);
                add(sum_q, ds[row][i], keys[i], part);
            }
            if (first + row >= Q) continue;
            float* to = dq + (start + first + row) * D + 2 * part;
#pragma unroll
            for (int j = 0; j < PAIRS / PARTS; ++j) {
                atomicAdd(to + 2 * PARTS * j, scale * sum_q[j].x);
                atomicAdd(to + 2 * PARTS * j + 1, scale * sum_q[j].y);
            }
        }
    }
    if (first_key + row >= K) return;
    const size_t at = ((size_t)head * K + first_key + row) * PAIRS + part;
#pragma unroll
    for (int j = 0; j < PAIRS / PARTS; ++j) {
        reinterpret_cast<__half2*>(dk)[at + PARTS * j] = __floats2half2_rn(scale * sum_k[j].x, scale * sum_k[j].y);
        reinterpret_cast<__half2*>(dv)[at + PARTS * j] = __floats2half2_rn(sum_v[j].x, sum_v[j].y);
    }
}
