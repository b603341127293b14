// 04 registers: 16 bytes per load; a row stays in registers from its load to its result.
//
// Moves: reads of x, from two to one; load instructions, to 1/4 (of each 4-byte pass); exponentials, from three an
//   element to one, since the largest element is known before the first.
// Mapping: LANES threads per row; lane l -> vectors l, l + LANES, l + 2 LANES ..., up to KEPT of them, 16 bytes each.
//   With 32 lanes a warp has a row by itself and a block four rows. Longer rows, rows whose width is no whole number of
//   vectors, and arrays that do not begin at a multiple of 16 bytes go element by element, in two passes.
//
// entry: softmax_registers
// block: 256
// grid: rows

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef LANES
#define LANES 256  // threads of a row: 32 or a multiple of 128
#endif
#ifndef KEPT
#define KEPT 4  // vectors per thread
#endif

constexpr int THREADS = LANES < 128 ? 128 : LANES;
constexpr int ROWS = THREADS / LANES;  // of a block
constexpr int WARPS = LANES / 32;  // of a row
constexpr int VECTOR = 16 / sizeof(ELEMENT);
constexpr unsigned int ALL_LANES = 0xffffffffu;

struct Vector {
    uint4 raw;
    __device__ ELEMENT& operator[](int i) { return reinterpret_cast<ELEMENT*>(&raw)[i]; }
};

__device__ __forceinline__ float power(float x)  // e^x
{
    return __expf(x);
}

__device__ __forceinline__ float row_max(float value)
{
    for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(ALL_LANES, value, offset));
    if (WARPS == 1) return value;
    __shared__ float of_warps[WARPS];
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    for (int w = 0; w < WARPS; ++w) value = fmaxf(value, of_warps[w]);
    return value;
}

__device__ __forceinline__ float row_sum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(ALL_LANES, value, offset);
    if (WARPS == 1) return value;
    __shared__ float of_warps[WARPS];
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0.0f;
    for (int w = 0; w < WARPS; ++w) value += of_warps[w];
    return value;
}

// The sum so far, taken from `from` down, taken from `to` down instead; before the first element both are -Inf.
__device__ __forceinline__ float rescaled(float sum, float from, float to)
{
    return sum * power(from - (to == -CUDART_INF_F ? 0.0f : to));
}

__device__ __forceinline__ void in_two_passes(const ELEMENT* x, ELEMENT* y, int columns, int lane)
{
    float largest = -CUDART_INF_F, sum = 0.0f;
    for (int i = lane; i < columns; i += LANES) {
        const float a = float(x[i]), now = fmaxf(largest, a);
        sum = rescaled(sum, largest, now) + rescaled(1.0f, a, now);
        largest = now;
    }
    const float of_row = row_max(largest);
    const float factor = 1.0f / row_sum(rescaled(sum, largest, of_row));
    for (int i = lane; i < columns; i += LANES) y[i] = ELEMENT(power(float(x[i]) - of_row) * factor);
}

extern "C" __global__ void __launch_bounds__(THREADS) softmax_registers(
    const ELEMENT* __restrict__ x, ELEMENT* __restrict__ y, int rows, int columns)
{
    const int row = blockIdx.x * ROWS + threadIdx.x / LANES, lane = threadIdx.x % LANES;
    if (row >= rows) return;  // whole warps, which then meet nobody
    x += (long long)row * columns;
    y += (long long)row * columns;
    const bool aligned = (((size_t)x | (size_t)y) & 15) == 0;
    if (!aligned || columns % VECTOR || columns > KEPT * LANES * VECTOR) return in_two_passes(x, y, columns, lane);

    const int vectors = columns / VECTOR;
    Vector raw[KEPT];
#pragma unroll
    for (int k = 0; k < KEPT; ++k)
        if (lane + k * LANES < vectors) raw[k].raw = reinterpret_cast<const uint4*>(x)[lane + k * LANES];
    float kept[KEPT][VECTOR], largest = -CUDART_INF_F;
#pragma unroll
    for (int k = 0; k < KEPT; ++k)
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) {
            kept[k][e] = lane + k * LANES < vectors ? float(raw[k][e]) : -CUDART_INF_F;
            largest = fmaxf(largest, kept[k][e]);
        }
    largest = row_max(largest);
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
        if (lane + k * LANES >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) sum += kept[k][e] = power(kept[k][e] - largest);
    }
    const float factor = 1.0f / row_sum(sum);
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
        if (lane + k * LANES >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) raw[k][e] = ELEMENT(kept[k][e] * factor);
        reinterpret_cast<uint4*>(y)[lane + k * LANES] = raw[k].raw;
    }
}
