// 03 eight ways: thresholds are searched seven at a time, so that a pass over the logits settles three bits of 32.
//
// Moves: passes over a row for top-k and for top-p, from 32 to 11 each.
// Mapping: one block per row. Thread t of T -> logits t, t + T, t + 2T ...; for the draw itself warp w owns one of 32
//   stretches of the row, and the stretch that holds the drawn point is walked by one warp, 32 logits at a time.
//
// A token's weight is exp((logit - largest) / temperature) in 2^-40 steps: sums of whole numbers are the same in any
// order, so a row's token does not depend on how many threads or rows there are.
//
// entry: sample_eight_ways
// block: 1024
// grid: M

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>

#ifndef ELEMENT
#define ELEMENT float
#endif

constexpr int THREADS = 1024;
constexpr int WARPS = THREADS / 32;
constexpr int WAYS = 8;
constexpr float LOG2E = 1.4426950408889634f;
constexpr float ONE = 1099511627776.0f;  // 2^40: the largest weight
constexpr unsigned int ALL_LANES = 0xffffffffu;
typedef unsigned long long Weight;

// Whole numbers in the order of the floats; NaN is above everything, so that the largest key tells of it.
__device__ __forceinline__ unsigned int key_of(float x)
{
    const unsigned int bits = __float_as_uint(x + 0.0f);  // -0 becomes 0
    return x != x ? 0xffffffffu : bits >> 31 ? ~bits : bits | 0x80000000u;
}

struct Row {
    const ELEMENT* logits;
    int V;
    float largest, inverse;  // of the logits; of the temperature, times log2(e)

    __device__ Weight weight(float x) const
    {
        return Weight(exp2f((x - largest) * inverse) * ONE);
    }
};

template <typename T> __device__ __forceinline__ T warp_sum(T value)
{
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(ALL_LANES, value, offset);
    return value;
}

// The highest key such that the tokens at or above it weigh (or, `counting`, number) at least `wanted`.
template <bool counting> __device__ unsigned int threshold(const Row& row, unsigned int floor_key, Weight wanted)
{
    __shared__ Weight parts[WAYS - 1][WARPS];
    unsigned int found = 0;
    for (int low = 30; low >= 0; low -= 3) {
        const int ways = low == 30 ? 4 : WAYS;  // two bits first, then ten times three
        Weight sums[WAYS - 1] = {};
        for (int i = threadIdx.x; i < row.V; i += THREADS) {
            const float x = float(row.logits[i]);
            const unsigned int key = key_of(x);
            if (key < floor_key || key < found) continue;
            const Weight w = counting ? 1 : row.weight(x);
#pragma unroll
            for (int n = 1; n < WAYS; ++n)
                if (n < ways && key >= found + ((unsigned int)n << low)) sums[n - 1] += w;
        }
#pragma unroll
        for (int n = 0; n < WAYS - 1; ++n) {
            const Weight sum = warp_sum(sums[n]);
            if (threadIdx.x % 32 == 0) parts[n][threadIdx.x / 32] = sum;
        }
        __syncthreads();
        unsigned int next = found;
        for (int n = 1; n < ways; ++n) {
            Weight sum = 0;
            for (int w = 0; w < WARPS; ++w) sum += parts[n - 1][w];
            if (sum >= wanted) next = found + ((unsigned int)n << low);
        }
        found = next;
        __syncthreads();
    }
    return found;
}

__device__ __forceinline__ Weight share_of(Weight total, double p)
{
    return Weight(__double2ull_rd(double(total) * p));
}

// Until the kernels in front have ended, and what they wrote is there. Every thread does: see kernels/torch_op.py.
__device__ __forceinline__ void wait_for_those_in_front()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void let_the_next_begin()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS) sample_eight_ways(
    const ELEMENT* logits, const float* temperature, const int* top_k, const float* top_p, const float* min_p,
    const double* uniform, long long* tokens, int M, int V)
{
    let_the_next_begin();
    __shared__ unsigned int keys[WARPS];
    __shared__ int places[WARPS];
    __shared__ Weight sums[WARPS];

    const int t = threadIdx.x, warp = t / 32, lane = t % 32, m = blockIdx.x;
    Row row = {logits + (long long)m * V, V, 0.0f, 0.0f};
    wait_for_those_in_front();

    unsigned int best = 0;
    int place = 0x7fffffff;
#pragma unroll 8  // logits on their way at a time
    for (int i = t; i < V; i += THREADS) {
        const unsigned int key = key_of(float(row.logits[i]));
        if (key > best || (key == best && i < place)) {
            best = key;
            place = i;
        }
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        const unsigned int key = __shfl_xor_sync(ALL_LANES, best, offset);
        const int other = __shfl_xor_sync(ALL_LANES, place, offset);
        if (key > best || (key == best && other < place)) {
            best = key;
            place = other;
        }
    }
    if (lane == 0) {
        keys[warp] = best;
        places[warp] = place;
    }
    __syncthreads();
    for (int w = 0; w < WARPS; ++w) {
        if (keys[w] > best || (keys[w] == best && places[w] < place)) {
            best = keys[w];
            place = places[w];
        }
    }
    row.largest = float(row.logits[place]);
    const bool sound = fabsf(row.largest) < INFINITY;  // NaN is not
    if (!sound || temperature[m] == 0.0f) {
        if (t == 0) tokens[m] = sound ? place : -1;
        return;
    }

    row.inverse = LOG2E / temperature[m];
    unsigned int floor_key = key_of(-INFINITY) + 1;
    if (min_p[m] > 0.0f) floor_key = max(floor_key, key_of(row.largest + logf(min_p[m]) * temperature[m]));
    if (top_k[m] > 0 && top_k[m] < V) floor_key = max(floor_key, threshold<true>(row, floor_key, top_k[m]));

    for (bool cut = top_p[m] < 1.0f;; cut = false) {  // with top-p: first the weight of all, then of those it keeps
        const int stretch = (V + WARPS - 1) / WARPS, begin = warp * stretch, end = min(V, begin + stretch);
        Weight sum = 0;
#pragma unroll 8
        for (int i = begin + lane; i < end; i += 32) {
            const float x = float(row.logits[i]);
            if (key_of(x) >= floor_key) sum += row.weight(x);
        }
        sum = warp_sum(sum);
        if (lane == 0) sums[warp] = sum;
        __syncthreads();
        Weight total = 0;
        for (int w = 0; w < WARPS; ++w) total += sums[w];
        if (cut) {
            floor_key = max(floor_key, threshold<false>(row, floor_key, max(Weight(1), share_of(total, top_p[m]))));
            __syncthreads();
            continue;
        }
        Weight point = min(share_of(total, uniform[m]), total - 1), before = 0;
        int owner = 0;
        while (owner < WARPS - 1 && before + sums[owner] <= point) before += sums[owner++];
        if (warp != owner) return;
        for (int base = begin; base < end; base += 32) {
            const int i = base + lane;
            const float x = i < end ? float(row.logits[i]) : -INFINITY;
            Weight w = row.weight(x);
            if (i >= end || key_of(x) < floor_key) w = 0;
            for (int offset = 1; offset < 32; offset *= 2) {  // sums up to and with this lane
                const Weight left = __shfl_up_sync(ALL_LANES, w, offset);
                if (lane >= offset) w += left;
            }
            const unsigned int reached = __ballot_sync(ALL_LANES, before + w > point);
            if (reached) {
                if (lane == 0) tokens[m] = base + __ffs(reached) - 1;
                return;
            }
            before += __shfl_sync(ALL_LANES, w, 31);
        }
        return;
    }
}
