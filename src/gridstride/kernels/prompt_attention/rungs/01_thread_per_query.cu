// 01 thread per query: one thread goes along the keys twice, for the largest score and for the sums.
//
// Moves: nothing yet. Each multiply-add asks for an element of a key, the same for all lanes of a head, and for one of
//   q, in rows that lie 256 bytes apart: a sector for each lane. Each score is made twice.
// Mapping: thread t of block (piece, head of keys) has query t / GROUP of the piece, head t % GROUP of the group.
//
// entry: prompt_attention_thread_per_query
// block: 128
// grid: P*K

#include <cuda_fp16.h>
#include <math.h>

#ifndef HEAD_WIDTH
#define HEAD_WIDTH 128
#endif
#ifndef GROUP
#define GROUP 2  // query heads of a head of keys
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 16
#endif

constexpr int D = HEAD_WIDTH;

__device__ __forceinline__ float score(const __half* q, const __half* k, float scale)
{
    float sum = 0.0f;
    for (int d = 0; d < D; ++d) sum += __half2float(q[d]) * __half2float(k[d]);
    return sum * scale;
}

extern "C" __global__ void prompt_attention_thread_per_query(
    const __half* q, const __half* keys, const __half* values, const int* tables, const int* pieces, __half* out, int K,
    int P, int table_width, float scale)
{
    const int* piece = pieces + blockIdx.x / K * 4;
    const int head = blockIdx.x % K, first = piece[0], count = piece[1], last = piece[3];
    const int query = threadIdx.x / GROUP;
    if (query >= count) return;
    const int* table = tables + (size_t)piece[2] * table_width;
    const int seen = max(0, last - (count - 1 - query));
    const size_t row = ((size_t)(first + query) * K + head) * GROUP + threadIdx.x % GROUP;
    q += row * D, out += row * D;
    const auto at = [&](int key) {
        return (((size_t)table[key / BLOCK_SIZE] * K + head) * BLOCK_SIZE + key % BLOCK_SIZE) * D;
    };

    float largest = -INFINITY;
    for (int key = 0; key < seen; ++key) largest = fmaxf(largest, score(q, keys + at(key), scale));

    float total = 0.0f, sum[D];
    for (int d = 0; d < D; ++d) sum[d] = 0.0f;
    for (int key = 0; key < seen; ++key) {
        const float weight = __expf(score(q, keys + at(key), scale) - largest);
        const __half* value = values + at(key);
        total += weight;
        for (int d = 0; d < D; ++d) sum[d] += weight * __half2float(value[d]);
    }
    for (int d = 0; d < D; ++d) out[d] = __float2half(seen ? sum[d] / total : 0.0f);
}
