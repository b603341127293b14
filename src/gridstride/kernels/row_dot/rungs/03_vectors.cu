// 03 vectors: 16 bytes a load, and as many lanes for a row as a head's width has pieces of that size.
//
// Moves: requests, to a sixth. Rows that are no whole number of 16 bytes are read an element at a time.
// Mapping: sixteen lanes (LANES) have a row, each every sixteenth piece of eight elements.
//
// entry: row_dot_vectors
// block: 256
// grid: ceil(rows/16)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT __half
#endif
#ifndef LANES
#define LANES 16
#endif

struct alignas(16) Eight {
    ELEMENT element[8];
};

extern "C" __global__ void __launch_bounds__(256)
row_dot_vectors(const ELEMENT* __restrict__ a, const ELEMENT* __restrict__ b, float* __restrict__ y, int rows,
                int columns)
{
    const int row = blockIdx.x * (256 / LANES) + threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const size_t start = (size_t)min(row, rows - 1) * columns;  // lanes of rows beyond the last one shuffle, too
    float sum = 0.0f;
    if (columns % 8 == 0) {
        const Eight* left = reinterpret_cast<const Eight*>(a + start);
        const Eight* right = reinterpret_cast<const Eight*>(b + start);
        for (int i = lane; i < columns / 8; i += LANES) {
            const Eight x = left[i], z = right[i];
#pragma unroll
            for (int e = 0; e < 8; ++e)
                sum += static_cast<float>(x.element[e]) * static_cast<float>(z.element[e]);
        }
    } else {
        for (int i = lane; i < columns; i += LANES)
            sum += static_cast<float>(a[start + i]) * static_cast<float>(b[start + i]);
    }
#pragma unroll
    for (int away = LANES / 2; away > 0; away /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, away);
    if (lane == 0 && row < rows) y[row] = sum;
}
