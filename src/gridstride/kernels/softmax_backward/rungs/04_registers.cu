// 04 registers: 16 bytes per load; both rows stay in registers from their load to the result.
//
// Moves: reads of y and dy, from two to one each; load instructions, to 1/4 (of each 4-byte pass).
// Mapping: LANES threads per row; lane l -> vectors l, l + LANES, l + 2 LANES ..., up to KEPT of them, 16 bytes each.
//   With 32 lanes a warp has a row by itself and a block four rows. Longer rows, rows whose width is no whole number of
//   vectors, and arrays that do not begin at a multiple of 16 bytes go element by element, in two passes.
//
// entry: softmax_backward_registers
// block: 256
// grid: rows

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef LANES
#define LANES 256  // threads of a row: 32 or a multiple of 128
#endif
#ifndef KEPT
#define KEPT 4  // vectors per thread and input
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

__device__ __forceinline__ void in_two_passes(
    const ELEMENT* y, const ELEMENT* dy, ELEMENT* dx, int columns, int lane)
{
    float sum = 0.0f;
    for (int i = lane; i < columns; i += LANES) sum += float(y[i]) * float(dy[i]);
    sum = row_sum(sum);
    for (int i = lane; i < columns; i += LANES) dx[i] = ELEMENT(float(y[i]) * (float(dy[i]) - sum));
}

extern "C" __global__ void __launch_bounds__(THREADS) softmax_backward_registers(
    const ELEMENT* __restrict__ y, const ELEMENT* __restrict__ dy, ELEMENT* __restrict__ dx, int rows, int columns)
{
    const int row = blockIdx.x * ROWS + threadIdx.x / LANES, lane = threadIdx.x % LANES;
    if (row >= rows) return;  // whole warps, which then meet nobody
    const long long start = (long long)row * columns;
    y += start, dy += start, dx += start;
    const bool aligned = (((size_t)y | (size_t)dy | (size_t)dx) & 15) == 0;
    if (!aligned || columns % VECTOR || columns > KEPT * LANES * VECTOR) return in_two_passes(y, dy, dx, columns, lane);

    const int vectors = columns / VECTOR;
    Vector a[KEPT], b[KEPT];
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
        if (lane + k * LANES >= vectors) break;
        a[k].raw = reinterpret_cast<const uint4*>(y)[lane + k * LANES];
        b[k].raw = reinterpret_cast<const uint4*>(dy)[lane + k * LANES];
    }
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
        if (lane + k * LANES >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) sum += float(a[k][e]) * float(b[k][e]);
    }
    sum = row_sum(sum);
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
        if (lane + k * LANES >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) a[k][e] = ELEMENT(float(a[k][e]) * (float(b[k][e]) - sum));
        reinterpret_cast<uint4*>(dx)[lane + k * LANES] = a[k].raw;
    }
}
