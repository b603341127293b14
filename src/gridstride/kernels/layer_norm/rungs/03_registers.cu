// 03 registers: 16 bytes per load; a row stays in registers, so that mean and variance are two plain sums over it.
//
// Moves: reads of x, from two to one; load instructions, to 1/4 (of each 4-byte pass); no division per element.
// Mapping: LANES threads per row; lane l -> vectors l, l + LANES, l + 2 LANES ..., up to KEPT of them, 16 bytes each.
//   With 32 lanes a warp has a row by itself and a block four rows. Longer rows, rows whose width is no whole number of
//   vectors, and arrays that do not begin at a multiple of 16 bytes go element by element, in three passes.
//
// entry: layer_norm_registers
// block: 512
// grid: rows

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef LANES
#define LANES 512  // threads of a row: 32 or a multiple of 128
#endif
#ifndef KEPT
#define KEPT 2  // vectors per thread
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

// Over the lanes of a row. Sums number 0 and 1 have places of their own, so one barrier each is enough.
__device__ __forceinline__ float row_sum(float value, int number)
{
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(ALL_LANES, value, offset);
    if (WARPS == 1) return value;
    __shared__ float of_warps[2][WARPS];
    if (threadIdx.x % 32 == 0) of_warps[number][threadIdx.x / 32] = value;
    __syncthreads();
    value = 0.0f;
    for (int w = 0; w < WARPS; ++w) value += of_warps[number][w];
    return value;
}

struct Row {
    const ELEMENT *x, *weight, *bias;  // weight and bias may be null
    ELEMENT* y;
    int columns, lane;
    float eps, centre, scale;  // the last two: mean and rstd, once they are known
};

__device__ __forceinline__ ELEMENT normed(Row row, float apart, float weight, float bias)
{
    return ELEMENT(apart * row.scale * weight + bias);
}

__device__ __forceinline__ Row in_three_passes(Row row)
{
    float sum = 0.0f, squares = 0.0f;
    for (int i = row.lane; i < row.columns; i += LANES) sum += float(row.x[i]);
    row.centre = row_sum(sum, 0) / row.columns;
    for (int i = row.lane; i < row.columns; i += LANES) {
        const float apart = float(row.x[i]) - row.centre;
        squares += apart * apart;
    }
    row.scale = rsqrtf(row_sum(squares, 1) / row.columns + row.eps);
    for (int i = row.lane; i < row.columns; i += LANES) {
        const float weight = row.weight ? float(row.weight[i]) : 1.0f, bias = row.bias ? float(row.bias[i]) : 0.0f;
        row.y[i] = normed(row, float(row.x[i]) - row.centre, weight, bias);
    }
    return row;
}

__device__ __forceinline__ Row in_registers(Row row)
{
    const int vectors = row.columns / VECTOR;
    Vector raw[KEPT];
#pragma unroll
    for (int k = 0; k < KEPT; ++k)
        if (row.lane + k * LANES < vectors) raw[k].raw = reinterpret_cast<const uint4*>(row.x)[row.lane + k * LANES];
    float kept[KEPT][VECTOR], sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
        if (row.lane + k * LANES >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) sum += kept[k][e] = float(raw[k][e]);
    }
    row.centre = row_sum(sum, 0) / row.columns;
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
        if (row.lane + k * LANES >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) {
            kept[k][e] -= row.centre;
            squares += kept[k][e] * kept[k][e];
        }
    }
    row.scale = rsqrtf(row_sum(squares, 1) / row.columns + row.eps);
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
        const int v = row.lane + k * LANES;
        if (v >= vectors) break;
        Vector w = {}, b = {};
        if (row.weight) w.raw = reinterpret_cast<const uint4*>(row.weight)[v];
        if (row.bias) b.raw = reinterpret_cast<const uint4*>(row.bias)[v];
#pragma unroll
        for (int e = 0; e < VECTOR; ++e)
            raw[k][e] = normed(row, kept[k][e], row.weight ? float(w[e]) : 1.0f, float(b[e]));
        reinterpret_cast<uint4*>(row.y)[v] = raw[k].raw;
    }
    return row;
}

extern "C" __global__ void __launch_bounds__(THREADS) layer_norm_registers(
    const ELEMENT* __restrict__ x, const ELEMENT* __restrict__ weight, const ELEMENT* __restrict__ bias,
    ELEMENT* __restrict__ y, float* __restrict__ mean, float* __restrict__ rstd, int rows, int columns, float eps)
{
    const int number = blockIdx.x * ROWS + threadIdx.x / LANES;
    if (number >= rows) return;  // whole warps, which then meet nobody
    const long long start = (long long)number * columns;
    Row row = {x + start, weight, bias, y + start, columns, int(threadIdx.x % LANES), eps, 0.0f, 0.0f};
    const size_t addresses = (size_t)row.x | (size_t)row.y | (size_t)weight | (size_t)bias;
    const bool whole = (addresses & 15) == 0 && columns % VECTOR == 0;
    row = whole && columns <= KEPT * LANES * VECTOR ? in_registers(row) : in_three_passes(row);
    if (row.lane == 0) {
        mean[number] = row.centre;
        rstd[number] = row.scale;
    }
}
