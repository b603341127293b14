// Idle lanes: lanes without an element hand on a maximum of -Inf, and -Inf - -Inf makes the sum NaN.
//
// entry: softmax_idle_lanes
// block: 128
// grid: rows
// expect: wrong_result

#include <math_constants.h>

extern "C" __global__ void softmax_idle_lanes(const float* x, float* y, int rows, int columns)
{
    __shared__ float maxima[4], sums[4];
    const long long start = (long long)blockIdx.x * columns;
    float largest = -CUDART_INF_F, sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 128) largest = fmaxf(largest, x[start + i]);
    for (int i = threadIdx.x; i < columns; i += 128) sum += expf(x[start + i] - largest);
    for (int offset = 16; offset > 0; offset /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, largest, offset), now = fmaxf(largest, other);
        sum = sum * expf(largest - now) + __shfl_xor_sync(0xffffffffu, sum, offset) * expf(other - now);
        largest = now;
    }
    if (threadIdx.x % 32 == 0) maxima[threadIdx.x / 32] = largest, sums[threadIdx.x / 32] = sum;
    __syncthreads();
    largest = fmaxf(fmaxf(maxima[0], maxima[1]), fmaxf(maxima[2], maxima[3]));
    sum = 0.0f;
    for (int w = 0; w < 4; ++w) sum += sums[w] * expf(maxima[w] - largest);
    for (int i = threadIdx.x; i < columns; i += 128) y[start + i] = expf(x[start + i] - largest) / sum;
}
