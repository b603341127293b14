// 03 vectorised: 16 bytes per load and store, four loads on their way before the first store.
//
// Moves: load and store instructions, to 1/4; bytes in flight, by 16.
// Mapping: one block per row; thread t -> vectors t, t + THREADS, t + 2 THREADS ..., UNROLL of them at a time. The
//   elements in front of a row's first multiple of 16 bytes, and those behind its last whole vector, go one by one.
//   Where logits and dlogits lie at different distances from one, all do.
//
// entry: cross_entropy_backward_vectorised
// block: 256
// grid: rows

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef THREADS
#define THREADS 256
#endif

constexpr int UNROLL = 4;  // vectors on their way for a thread
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

extern "C" __global__ void __launch_bounds__(THREADS) cross_entropy_backward_vectorised(
    const ELEMENT* __restrict__ logits, const long long* __restrict__ labels, const float* __restrict__ lse,
    const float* __restrict__ dloss, ELEMENT* __restrict__ dlogits, int rows, int classes, long long ignore_index)
{
    const int t = threadIdx.x;
    const long long label = labels[blockIdx.x], start = (long long)blockIdx.x * classes;
    const float slope = label >= 0 && label < classes ? dloss[blockIdx.x] : CUDART_NAN_F;
    const Row row = {lse[blockIdx.x], slope, label, label == ignore_index};
    const ELEMENT* x = logits + start;
    ELEMENT* dx = dlogits + start;

    const int past = (size_t)x % 16 / sizeof(ELEMENT);  // elements behind a multiple of 16 bytes
    const bool together = ((size_t)x - (size_t)dx) % 16 == 0;
    const int head = together ? min((VECTOR - past) % VECTOR, classes) : classes;
    const int vectors = (classes - head) / VECTOR;
    const uint4* from = reinterpret_cast<const uint4*>(x + head);
    for (int i = t; i < head; i += THREADS) dx[i] = row.gradient(float(x[i]), i);
    for (int first = t; first < vectors; first += UNROLL * THREADS) {
        Vector raw[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; ++k)
            if (first + k * THREADS < vectors) raw[k].raw = from[first + k * THREADS];
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) {
            if (first + k * THREADS >= vectors) break;
#pragma unroll
            for (int e = 0; e < VECTOR; ++e)
                raw[k][e] = row.gradient(float(raw[k][e]), head + (first + k * THREADS) * VECTOR + e);
            reinterpret_cast<uint4*>(dx + head)[first + k * THREADS] = raw[k].raw;
        }
    }
    const int rest = head + vectors * VECTOR + t;
    if (rest < classes) dx[rest] = row.gradient(float(x[rest]), rest);
}
