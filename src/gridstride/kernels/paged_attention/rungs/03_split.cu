// 03 split: a sequence's tokens are split over several blocks; the last one to finish merges what they saw.
//
// Moves: blocks on the chip, from S K to S K `splits`: few or long sequences fill it too. The merge re-reads D + 2
//   floats per head and split.
// Mapping: block (x, y, z) -> split x of key head y of sequence z and the G query heads that share it. D / 8 lanes hold
//   one token's row as 16 bytes each (16-bit elements), so a warp holds 256 / D tokens; every lane has UNROLL rows of
//   keys and of values on their way. Scores are summed over a row's lanes by shuffles; each row group has its own
//   running maximum, sum and output, merged at the end over groups, warps and splits by their maxima (log-sum-exp).
//
// entry: paged_attention_split
// block: 128
// grid: 3 K S

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>

#ifndef ELEMENT
#define ELEMENT __half
#endif
#ifndef HEAD_WIDTH
#define HEAD_WIDTH 64
#endif
#ifndef GROUP
#define GROUP 2
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 16
#endif
#ifndef UNROLL
#define UNROLL 4  // rows of keys, and of values, that a lane has on their way
#define RESIDENT 5  // blocks on a multiprocessor: what the registers for UNROLL rows allow
#endif
#ifndef LEAST
#define LEAST 64  // tokens below which a split is not worth its merge
#endif

constexpr int THREADS = 128;
constexpr int WARPS = THREADS / 32;
constexpr int VECTOR = 16 / sizeof(ELEMENT);
constexpr int LANES = HEAD_WIDTH / VECTOR;  // that hold one token's row
constexpr int ROWS = 32 / LANES;  // tokens in a warp at a time
constexpr int STEP = WARPS * ROWS * UNROLL;  // tokens in a block at a time
constexpr float LOG2E = 1.4426950408889634f;
constexpr unsigned int ALL_LANES = 0xffffffffu;
static_assert(HEAD_WIDTH % VECTOR == 0 && 32 % LANES == 0, "a token's row is read by a power of two of lanes");

struct Vector {
    uint4 raw;
    __device__ float operator[](int i) const { return float(reinterpret_cast<const ELEMENT*>(&raw)[i]); }
};

// What a group of lanes, a warp or a split has seen of one head: weights relative to exp2(top).
__device__ __forceinline__ float weight(float top, float all)
{
    return top == -INFINITY ? 0.0f : exp2f(top - all);
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

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) paged_attention_split(
    const ELEMENT* q, const ELEMENT* keys, const ELEMENT* values, const int* tables, const int* lengths, ELEMENT* out,
    float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    __shared__ float tops[GROUP][WARPS], sums[GROUP][WARPS], heads[WARPS][GROUP][HEAD_WIDTH];
    __shared__ bool last;

    let_the_next_begin();  // the product behind this may ask for its weights meanwhile
    const int split = blockIdx.x, splits = gridDim.x, kv = blockIdx.y, s = blockIdx.z;
    const int warp = threadIdx.x / 32, row = threadIdx.x % 32 / LANES, column = threadIdx.x % LANES * VECTOR;
    wait_for_those_in_front();
    const int length = lengths[s];
    const int even = (length + splits - 1) / splits;
    const int share = max(LEAST, (even + STEP - 1) / STEP * STEP);  // tokens of a split
    const int used = max(1, (length + share - 1) / share);
    if (split >= used) return;
    const int begin = split * share, end = min(length, begin + share);
    const long long first_head = ((long long)s * K + kv) * GROUP;

    float query[GROUP][VECTOR], seen[GROUP][VECTOR], top[GROUP], sum[GROUP];
#pragma unroll
    for (int g = 0; g < GROUP; ++g) {
        const Vector v = {*reinterpret_cast<const uint4*>(q + (first_head + g) * HEAD_WIDTH + column)};
        top[g] = -INFINITY;
        sum[g] = 0.0f;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) {
            query[g][e] = v[e] * scale * LOG2E;
            seen[g][e] = 0.0f;
        }
    }

    for (int base = begin; base < end; base += STEP) {
        Vector key[UNROLL], value[UNROLL];
        float score[GROUP][UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            const int token = base + (u * WARPS + warp) * ROWS + row;
            key[u].raw = value[u].raw = uint4{};
            if (token < end) {
                const long long block = tables[(long long)s * table_width + token / BLOCK_SIZE];
                const long long at = ((block * K + kv) * BLOCK_SIZE + token % BLOCK_SIZE) * HEAD_WIDTH + column;
                key[u].raw = *reinterpret_cast<const uint4*>(keys + at);
                value[u].raw = *reinterpret_cast<const uint4*>(values + at);
            }
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            const bool there = base + (u * WARPS + warp) * ROWS + row < end;
#pragma unroll
            for (int g = 0; g < GROUP; ++g) {
                float dot = 0.0f;
#pragma unroll
                for (int e = 0; e < VECTOR; ++e) dot += query[g][e] * key[u][e];
#pragma unroll
                for (int offset = LANES / 2; offset > 0; offset /= 2)
                    dot += __shfl_xor_sync(ALL_LANES, dot, offset);
                score[g][u] = there ? dot : -INFINITY;
            }
        }
#pragma unroll
        for (int g = 0; g < GROUP; ++g) {
            float next = top[g];
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) next = fmaxf(next, score[g][u]);
            const float keep = weight(top[g], next);
            top[g] = next;
            sum[g] *= keep;
#pragma unroll
            for (int e = 0; e < VECTOR; ++e) seen[g][e] *= keep;
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                const float p = weight(score[g][u], next);
                sum[g] += p;
#pragma unroll
                for (int e = 0; e < VECTOR; ++e) seen[g][e] += p * value[u][e];
            }
        }
    }

    // Row groups of a warp, then warps.
#pragma unroll
    for (int g = 0; g < GROUP; ++g) {
#pragma unroll
        for (int offset = LANES; offset < 32; offset *= 2) {
            const float other = __shfl_xor_sync(ALL_LANES, top[g], offset), next = fmaxf(top[g], other);
            const float mine = weight(top[g], next), theirs = weight(other, next);
            sum[g] = sum[g] * mine + __shfl_xor_sync(ALL_LANES, sum[g], offset) * theirs;
#pragma unroll
            for (int e = 0; e < VECTOR; ++e)
                seen[g][e] = seen[g][e] * mine + __shfl_xor_sync(ALL_LANES, seen[g][e], offset) * theirs;
            top[g] = next;
        }
        if (row == 0) {
#pragma unroll
            for (int e = 0; e < VECTOR; ++e) heads[warp][g][column + e] = seen[g][e];
            if (column == 0) {
                tops[g][warp] = top[g];
                sums[g][warp] = sum[g];
            }
        }
    }
    __syncthreads();

    constexpr int RECORD = HEAD_WIDTH + 2;  // floats of one head in one split: output, maximum, sum
    for (int i = threadIdx.x; i < GROUP * HEAD_WIDTH; i += THREADS) {
        const int g = i / HEAD_WIDTH, d = i % HEAD_WIDTH;
        float most = tops[g][0], total = 0.0f, x = 0.0f;
#pragma unroll
        for (int w = 1; w < WARPS; ++w) most = fmaxf(most, tops[g][w]);
#pragma unroll
        for (int w = 0; w < WARPS; ++w) {
            const float share_of_w = weight(tops[g][w], most);
            total += share_of_w * sums[g][w];
            x += share_of_w * heads[w][g][d];
        }
        if (used == 1) {
            out[(first_head + g) * HEAD_WIDTH + d] = ELEMENT(total > 0.0f ? x / total : 0.0f);
        } else {
            float* record = partial + ((first_head + g) * splits + split) * RECORD;
            record[d] = x;
            if (d == 0) {
                record[HEAD_WIDTH] = most;
                record[HEAD_WIDTH + 1] = total;
            }
        }
    }
    if (used == 1) return;

    __threadfence();  // this split's record before the count that says it is there
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(&arrived[(long long)s * K + kv], 1) == used - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (int i = threadIdx.x; i < GROUP * HEAD_WIDTH; i += THREADS) {
        const int g = i / HEAD_WIDTH, d = i % HEAD_WIDTH;
        const float* records = partial + (first_head + g) * splits * RECORD;
        float most = -INFINITY, total = 0.0f, x = 0.0f;
        for (int p = 0; p < used; ++p) most = fmaxf(most, __ldcg(records + p * RECORD + HEAD_WIDTH));
        for (int p = 0; p < used; ++p) {  // in order, so that the sum is the same whoever is last
            const float share_of_p = weight(__ldcg(records + p * RECORD + HEAD_WIDTH), most);
            total += share_of_p * __ldcg(records + p * RECORD + HEAD_WIDTH + 1);
            x += share_of_p * __ldcg(records + p * RECORD + d);
        }
        out[(first_head + g) * HEAD_WIDTH + d] = ELEMENT(x / total);
    }
    if (threadIdx.x == 0) arrived[(long long)s * K + kv] = 0;  // ready for the next launch
}
