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

#ifndef FIXED_TABLES
#define FIXED_TABLES 0  // kernels in front write none of what is read here but qkv
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

extern "C" __global__ void rotary_cache_warp_per_head(
    const ELEMENT* qkv, const float* cosine, const float* sine, const ELEMENT* q_weight, const ELEMENT* k_weight,
    const long long* positions, const long long* slots, ELEMENT* q, ELEMENT* keys, ELEMENT* values, int N, int G, int K,
    int block_size, float eps)
{
    let_the_next_begin();
    const int heads = G * K, all = heads + 2 * K;
    const long long w = (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const bool there = w / all < N;
    const long long token = there ? w / all : N - 1;
    const int head = int(w % all), lane = threadIdx.x % 32;
    const bool is_value = head >= heads + K, cached = head >= heads;
    const ELEMENT* weight = is_value ? nullptr : cached ? k_weight : q_weight;
    const ELEMENT* from = qkv + (token * all + head) * HEAD_WIDTH + lane * PAIRS;

    if (!FIXED_TABLES) wait_for_those_in_front();
    Part low, high, low_weight = {}, high_weight = {};
    if (!FIXED_TABLES) {  // on their way together with what follows
        low = *reinterpret_cast<const Part*>(from);
        high = *reinterpret_cast<const Part*>(from + HALF);
    }
    const long long slot = cached ? slots[token] : 0;
    float c[PAIRS] = {}, s[PAIRS] = {};
    if (!is_value) {
        const long long turn = positions[token] * HALF + lane * PAIRS;
#pragma unroll
        for (int i = 0; i < PAIRS; ++i) {
            c[i] = cosine[turn + i];
            s[i] = sine[turn + i];
        }
    }
    if (weight) {
#pragma unroll
        for (int i = 0; i < PAIRS; ++i) {
            low_weight.e[i] = weight[lane * PAIRS + i];
            high_weight.e[i] = weight[HALF + lane * PAIRS + i];
        }
    }
    if (FIXED_TABLES) {
        wait_for_those_in_front();
        low = *reinterpret_cast<const Part*>(from);
        high = *reinterpret_cast<const Part*>(from + HALF);
    }
    if (!there) return;

    if (!is_value) {
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
                a[i] *= scale * float(low_weight.e[i]);
                b[i] *= scale * float(high_weight.e[i]);
            }
        }
#pragma unroll
        for (int i = 0; i < PAIRS; ++i) {
            low.e[i] = ELEMENT(a[i] * c[i] - b[i] * s[i]);
            high.e[i] = ELEMENT(b[i] * c[i] + a[i] * s[i]);
        }
    }

    ELEMENT* to = q + (token * heads + head) * HEAD_WIDTH;
    if (cached) {  // the cache: [blocks, K, block_size, D]
        const int kv = (head - heads) % K;
        const long long row = (slot / block_size * K + kv) * block_size + slot % block_size;
        to = (is_value ? values : keys) + row * HEAD_WIDTH;
    }
    *reinterpret_cast<Part*>(to + lane * PAIRS) = low;
    *reinterpret_cast<Part*>(to + HALF + lane * PAIRS) = high;
}
