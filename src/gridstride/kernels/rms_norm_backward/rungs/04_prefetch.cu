// 04 prefetch: the next row is asked for before this one's sums are added up.
//
// Moves: nothing less; waiting. A block of 03 has nothing on its way while it adds up and stores a row; here the next
//   row's loads are, in registers of their own. More threads of fewer vectors each leave room for them.
// Mapping: LANES threads have a row; lane l -> vectors l, l + LANES and so on, up to KEPT of them. Longer rows, rows
//   whose width is no whole number of vectors, and arrays that do not begin at a multiple of 16 bytes go as in 02.
//
// entry: rms_norm_backward_prefetch
// block: 512
// grid: parts

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef LANES
#define LANES 512  // threads of a row: a multiple of 32
#endif
#ifndef KEPT
#define KEPT 2  // vectors per thread and array
#endif

constexpr int WARPS = LANES / 32;
constexpr int VECTOR = 16 / sizeof(ELEMENT);

struct Vector {
    uint4 raw;
    __device__ ELEMENT& operator[](int i) { return reinterpret_cast<ELEMENT*>(&raw)[i]; }
};

// Both sums over the block, in every thread.
__device__ __forceinline__ float2 block_sums(float2 value, int turn)
{
    __shared__ float2 of_warps[2][WARPS];
    for (int offset = 16; offset > 0; offset /= 2) {
        value.x += __shfl_xor_sync(0xffffffffu, value.x, offset);
        value.y += __shfl_xor_sync(0xffffffffu, value.y, offset);
    }
    if (threadIdx.x % 32 == 0) of_warps[turn][threadIdx.x / 32] = value;
    __syncthreads();
    value = make_float2(0.0f, 0.0f);
    for (int w = 0; w < WARPS; ++w) value.x += of_warps[turn][w].x, value.y += of_warps[turn][w].y;
    return value;
}

__device__ __forceinline__ void element_by_element(
    const ELEMENT* x, const ELEMENT* weight, const ELEMENT* dy, ELEMENT* dx, float* part, int rows, int columns,
    int parts, float eps)
{
    const int t = threadIdx.x;
    for (int i = t; i < columns; i += LANES) part[i] = 0.0f;
    for (int row = blockIdx.x, turn = 0; row < rows; row += parts, turn ^= 1) {
        const long long start = (long long)row * columns;
        float2 sums = make_float2(0.0f, 0.0f);
        for (int i = t; i < columns; i += LANES) {
            const float a = float(x[start + i]);
            sums.x += a * a;
            sums.y += float(dy[start + i]) * float(weight[i]) * a;
        }
        sums = block_sums(sums, turn);
        const float scale = rsqrtf(sums.x / columns + eps), mean = sums.y * scale / columns;
        for (int i = t; i < columns; i += LANES) {
            const float normed = float(x[start + i]) * scale, slope = float(dy[start + i]);
            dx[start + i] = ELEMENT(scale * (slope * float(weight[i]) - normed * mean));
            part[i] += slope * normed;
        }
    }
}

extern "C" __global__ void __launch_bounds__(LANES) rms_norm_backward_prefetch(
    const ELEMENT* __restrict__ x, const ELEMENT* __restrict__ weight, const ELEMENT* __restrict__ dy,
    ELEMENT* __restrict__ dx, float* __restrict__ partial, int rows, int columns, int parts, float eps)
{
    const int t = threadIdx.x, vectors = columns / VECTOR;
    float* part = partial + (long long)blockIdx.x * columns;
    const bool aligned = (((size_t)x | (size_t)weight | (size_t)dy | (size_t)dx) & 15) == 0;
    if (!aligned || columns % VECTOR || vectors > KEPT * LANES)
        return element_by_element(x, weight, dy, dx, part, rows, columns, parts, eps);

    Vector w[KEPT];
    float sum[KEPT][VECTOR] = {};  // this block's part of dweight
#pragma unroll
    for (int k = 0; k < KEPT; ++k)
        if (t + k * LANES < vectors) w[k].raw = reinterpret_cast<const uint4*>(weight)[t + k * LANES];
    Vector next[2][KEPT];  // of x and of dy
    const auto ask = [&](int row) {
        const long long start = (long long)row * columns;
#pragma unroll
        for (int k = 0; k < KEPT; ++k) {
            const int v = t + k * LANES;
            if (v >= vectors || row >= rows) break;
            next[0][k].raw = __ldcs(reinterpret_cast<const uint4*>(x + start) + v);
            next[1][k].raw = __ldcs(reinterpret_cast<const uint4*>(dy + start) + v);
        }
    };
    ask(blockIdx.x);
    for (int row = blockIdx.x, turn = 0; row < rows; row += parts, turn ^= 1) {
        const long long start = (long long)row * columns;
        Vector a[KEPT], b[KEPT];
#pragma unroll
        for (int k = 0; k < KEPT; ++k) a[k] = next[0][k], b[k] = next[1][k];
        ask(row + parts);
        float2 sums = make_float2(0.0f, 0.0f);
#pragma unroll
        for (int k = 0; k < KEPT; ++k) {
            if (t + k * LANES >= vectors) break;
#pragma unroll
            for (int e = 0; e < VECTOR; ++e) {
                sums.x += float(a[k][e]) * float(a[k][e]);
                sums.y += float(b[k][e]) * float(w[k][e]) * float(a[k][e]);
            }
        }
        sums = block_sums(sums, turn);
        const float scale = rsqrtf(sums.x / columns + eps), mean = sums.y * scale / columns;
#pragma unroll
        for (int k = 0; k < KEPT; ++k) {
            const int v = t + k * LANES;
            if (v >= vectors) break;
#pragma unroll
            for (int e = 0; e < VECTOR; ++e) {
                const float normed = float(a[k][e]) * scale, slope = float(b[k][e]);
                a[k][e] = ELEMENT(scale * (slope * float(w[k][e]) - normed * mean));
                sum[k][e] += slope * normed;
            }
            __stcs(reinterpret_cast<uint4*>(dx + start) + v, a[k].raw);
        }
    }
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
        const int v = t + k * LANES;
        if (v >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) part[v * VECTOR + e] = sum[k][e];
    }
}
