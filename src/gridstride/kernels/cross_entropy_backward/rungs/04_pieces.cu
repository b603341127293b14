// 04 pieces: a block has a piece of a row, two vectors a thread, and no loop.
//
// Moves: nothing less; blocks, from one a row to one for 8 KiB of it. No sum joins a row's elements here, so that many
//   short blocks may have them: the last turn of long ones, which leaves multiprocessors idle, becomes short, and a
//   block's first loads go out while others store.
// Mapping: block p of a row -> vectors p * UNROLL * THREADS and up of its row; thread t -> each THREADS-th from t on.
//   What lies in front of the row's first multiple of 16 bytes is the first block's, what is behind its last whole
//   vector the last one's. Where logits and dlogits lie at different distances from one, elements go one by one.
//
// entry: cross_entropy_backward_pieces
// block: 256
// grid: rows*ceil(classes/2048)

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef THREADS
#define THREADS 256
#endif

constexpr int UNROLL = 2;  // vectors on their way for a thread
constexpr int VECTOR = 16 / sizeof(ELEMENT);

struct Vector {
    uint4 raw;
    __device__ ELEMENT& operator[](int i) { return reinterpret_cast<ELEMENT*>(&raw)[i]; }
};

// What a row's elements have in common; `label` is in no row where it is out of range.
struct Row {
    float lse, slope;
    long long label;
    bool ignored;

    __device__ __forceinline__ ELEMENT gradient(float logit, int i) const
    {
        return ELEMENT(ignored ? 0.0f : slope * (__expf(logit - lse) - (i == label ? 1.0f : 0.0f)));
    }
};

extern "C" __global__ void __launch_bounds__(THREADS) cross_entropy_backward_pieces(
    const ELEMENT* __restrict__ logits, const long long* __restrict__ labels, const float* __restrict__ lse,
    const float* __restrict__ dloss, ELEMENT* __restrict__ dlogits, int rows, int classes, long long ignore_index)
{
    const int t = threadIdx.x, pieces = gridDim.x / rows, line = blockIdx.x / pieces, piece = blockIdx.x % pieces;
    const int first = piece * (UNROLL * THREADS) + t;
    const long long start = (long long)line * classes;
    const ELEMENT* x = logits + start;
    ELEMENT* dx = dlogits + start;
    const int past = (size_t)x % 16 / sizeof(ELEMENT);  // elements behind a multiple of 16 bytes
    const bool together = ((size_t)x - (size_t)dx) % 16 == 0;
    const int head = together ? min((VECTOR - past) % VECTOR, classes) : classes;
    const int vectors = (classes - head) / VECTOR;
    const uint4* from = reinterpret_cast<const uint4*>(x + head);
    Vector raw[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; ++k)
        if (first + k * THREADS < vectors) raw[k].raw = __ldcs(from + first + k * THREADS);

    const long long label = labels[line];
    const float slope = label >= 0 && label < classes ? dloss[line] : CUDART_NAN_F;
    const Row row = {lse[line], slope, label, label == ignore_index};
#pragma unroll
    for (int k = 0; k < UNROLL; ++k) {
        if (first + k * THREADS >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e)
            raw[k][e] = row.gradient(float(raw[k][e]), head + (first + k * THREADS) * VECTOR + e);
        __stcs(reinterpret_cast<uint4*>(dx + head) + first + k * THREADS, raw[k].raw);
    }
    const int all = pieces * THREADS, single = head + (classes - head - vectors * VECTOR);
    for (int i = piece * THREADS + t; i < single; i += all) {  // in front of the vectors, then behind them
        const int at = i < head ? i : i + vectors * VECTOR;
        dx[at] = row.gradient(float(x[at]), at);
    }
}
