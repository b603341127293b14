// Odd rows by vectors: the array begins at a multiple of 16 bytes, but with an odd width not every row does.
//
// entry: softmax_odd_rows_by_vectors
// block: 32
// grid: rows
// expect: misaligned

#include <math_constants.h>

extern "C" __global__ void softmax_odd_rows_by_vectors(const float* x, float* y, int rows, int columns)
{
    const float* from = x + (long long)blockIdx.x * columns;
    float* to = y + (long long)blockIdx.x * columns;
    const int whole = ((size_t)x & 15) == 0 ? columns / 4 * 4 : 0;
    float largest = -CUDART_INF_F, sum = 0.0f;
    for (int i = 4 * threadIdx.x; i < whole; i += 128) {
        const float4 a = *reinterpret_cast<const float4*>(from + i);  // <- here
        largest = fmaxf(largest, fmaxf(fmaxf(a.x, a.y), fmaxf(a.z, a.w)));
    }
    for (int i = whole + threadIdx.x; i < columns; i += 32) largest = fmaxf(largest, from[i]);
    for (int offset = 16; offset > 0; offset /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
    for (int i = threadIdx.x; i < columns; i += 32) sum += expf(from[i] - largest);
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    for (int i = threadIdx.x; i < columns; i += 32) to[i] = expf(from[i] - largest) / sum;
}
