// 04 vectorised: 16 bytes per load and two loads on their way; the maximum of all eight logits goes first, so that the
//   sum is scaled once for them.
//
// Moves: load instructions, to 1/4; exponentials, from two an element to little more than one; bytes in flight, by 8.
// Mapping: one block per row; thread t -> vectors t, t + THREADS, t + 2 THREADS ..., UNROLL of them at a time. A row
//   may begin between two multiples of 16 bytes, as most do of an odd number of classes (GPT-2 has 50,257): elements
//   in front of the first multiple, and those behind the last whole vector, go one by one. Thread 0 writes.
//
// entry: cross_entropy_vectorised
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

constexpr int UNROLL = 2;  // vectors on their way for a thread
constexpr int WARPS = THREADS / 32;
constexpr int VECTOR = 16 / sizeof(ELEMENT);
constexpr unsigned int ALL_LANES = 0xffffffffu;

struct Vector {
    uint4 raw;
    __device__ ELEMENT& operator[](int i) { return reinterpret_cast<ELEMENT*>(&raw)[i]; }
};

struct Running {
    float largest, sum;
};

// The sum so far, taken from `from` down, taken from `to` down instead; before the first element both are -Inf.
__device__ __forceinline__ float rescaled(float sum, float from, float to)
{
    return sum * __expf(from - (to == -CUDART_INF_F ? 0.0f : to));
}

__device__ __forceinline__ Running joined(Running a, Running b)
{
    const float largest = fmaxf(a.largest, b.largest);
    return {largest, rescaled(a.sum, a.largest, largest) + rescaled(b.sum, b.largest, largest)};
}

__device__ __forceinline__ Running of_warp(Running lane)
{
    float largest = lane.largest;
    for (int offset = 16; offset > 0; offset /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(ALL_LANES, largest, offset));
    float sum = rescaled(lane.sum, lane.largest, largest);
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, offset);
    return {largest, sum};
}

// UNROLL vectors from `first` on; what lies behind the last is -Inf, which adds nothing.
__device__ __forceinline__ Running with_vectors(Running total, const uint4* x, int first, int vectors)
{
    float logits[UNROLL][VECTOR];
    Vector raw[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; ++k)
        if (first + k * THREADS < vectors) raw[k].raw = x[first + k * THREADS];
    float largest = total.largest;
#pragma unroll
    for (int k = 0; k < UNROLL; ++k)
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) {
            logits[k][e] = first + k * THREADS < vectors ? float(raw[k][e]) : -CUDART_INF_F;
            largest = fmaxf(largest, logits[k][e]);
        }
    float sum = rescaled(total.sum, total.largest, largest);
#pragma unroll
    for (int k = 0; k < UNROLL; ++k)
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) sum += rescaled(1.0f, logits[k][e], largest);
    return {largest, sum};
}

extern "C" __global__ void __launch_bounds__(THREADS) cross_entropy_vectorised(
    const ELEMENT* __restrict__ logits, const long long* __restrict__ labels, float* __restrict__ loss,
    float* __restrict__ lse, int rows, int classes, long long ignore_index)
{
    __shared__ Running of_warps[WARPS];
    const int row = blockIdx.x, t = threadIdx.x;
    const long long label = labels[row];
    if (label == ignore_index) {
        if (t == 0) loss[row] = lse[row] = 0.0f;
        return;
    }
    const ELEMENT* x = logits + (long long)row * classes;
    const int past = (size_t)x % 16 / sizeof(ELEMENT);  // elements behind a multiple of 16 bytes
    const int head = min((VECTOR - past) % VECTOR, classes);
    const int vectors = (classes - head) / VECTOR;

    Running total = {-CUDART_INF_F, 0.0f};
    if (t < head) total = joined(total, {float(x[t]), 1.0f});
    for (int first = t; first < vectors; first += UNROLL * THREADS)
        total = with_vectors(total, reinterpret_cast<const uint4*>(x + head), first, vectors);
    const int rest = head + vectors * VECTOR + t;
    if (rest < classes) total = joined(total, {float(x[rest]), 1.0f});

    total = of_warp(total);
    if (t % 32 == 0) of_warps[t / 32] = total;
    __syncthreads();
    if (t < 32) {
        total = of_warp(t < WARPS ? of_warps[t] : Running{-CUDART_INF_F, 0.0f});
        if (t == 0) {
            const float log_sum = logf(total.sum);
            lse[row] = total.largest + log_sum;
            loss[row] = label >= 0 && label < classes ? total.largest - float(x[label]) + log_sum : CUDART_NAN_F;
        }
    }
}
