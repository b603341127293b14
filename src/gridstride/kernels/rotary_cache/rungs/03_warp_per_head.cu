// 03 warp per head: a warp holds a head in registers; its norm is a few shuffles, and no shared memory is left.
//
// Moves: barriers, from two per head to none; shared wavefronts, to none; requests, to 1/2 (two elements at a time).
// Mapping: warp w of the grid -> head w % (H + 2K) of token w / (H + 2K): first the H query heads, then K of keys, then
//   K of values. Lane l -> elements 2l, 2l + 1 and D/2 + 2l, D/2 + 2l + 1 (D = 128; with D = 64 one of each).
//
// entry: rotary_cache_warp_per_head
// block: 128
// grid: ceil(N*(G*K+2*K)/4)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT __half
#endif
#ifndef HEAD_WIDTH
#define HEAD_WIDTH 64
#endif

constexpr int HALF = HEAD_WIDTH / 2;
constexpr int PAIRS = HALF / 32;  // of elements that turn together, per lane
constexpr unsigned int ALL_LANES = 0xffffffffu;
static_assert(HALF % 32 == 0, "a head is a whole number of pairs for every lane");

struct alignas(PAIRS * sizeof(ELEMENT)) Part {
    ELEMENT e[PAIRS];
};

__device__ __forceinline__ float warp_sum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(ALL_LANES, value, offset);
    return value;
}

extern "C" __global__ void rotary_cache_warp_per_head(
    const ELEMENT* __restrict__ qkv, const float* __restrict__ cosine, const float* __restrict__ sine,
    const ELEMENT* __restrict__ q_weight, const ELEMENT* __restrict__ k_weight,
    const long long* __restrict__ positions, const long long* __restrict__ slots, ELEMENT* __restrict__ q,
    ELEMENT* __restrict__ keys, ELEMENT* __restrict__ values, int N, int G, int K, int block_size, float eps)
{
    const int heads = G * K, all = heads + 2 * K;
    const long long w = (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const long long token = w / all;
    const int head = int(w % all), lane = threadIdx.x % 32;
    if (token >= N) return;

    const ELEMENT* from = qkv + (token * all + head) * HEAD_WIDTH + lane * PAIRS;
    Part low = *reinterpret_cast<const Part*>(from), high = *reinterpret_cast<const Part*>(from + HALF);
    const bool is_value = head >= heads + K;
    if (!is_value) {
        const ELEMENT* weight = head < heads ? q_weight : k_weight;
        float a[PAIRS], b[PAIRS], squares = 0.0f;
#pragma unroll
        for (int i = 0; i < PAIRS; ++i) {
            a[i] = float(low.e[i]);
            b[i] = float(high.e[i]);
            squares += a[i] * a[i] + b[i] * b[i];
        }
        if (weight) {
            const float scale = rsqrtf(warp_sum(squares) / HEAD_WIDTH + eps);
#pragma unroll
            for (int i = 0; i < PAIRS; ++i) {
                a[i] *= scale * float(weight[lane * PAIRS + i]);
                b[i] *= scale * float(weight[HALF + lane * PAIRS + i]);
            }
        }
        const long long turn = positions[token] * HALF + lane * PAIRS;
#pragma unroll
        for (int i = 0; i < PAIRS; ++i) {
            const float c = cosine[turn + i], s = sine[turn + i];
            low.e[i] = ELEMENT(a[i] * c - b[i] * s);
            high.e[i] = ELEMENT(b[i] * c + a[i] * s);
        }
    }

    ELEMENT* to = q + (token * heads + head) * HEAD_WIDTH;
    if (head >= heads) {  // the cache: [blocks, K, block_size, D]
        const long long slot = slots[token];
        const int kv = (head - heads) % K;
        const long long row = (slot / block_size * K + kv) * block_size + slot % block_size;
        to = (is_value ? values : keys) + row * HEAD_WIDTH;
    }
    *reinterpret_cast<Part*>(to + lane * PAIRS) = low;
    *reinterpret_cast<Part*>(to + HALF + lane * PAIRS) = high;
}
