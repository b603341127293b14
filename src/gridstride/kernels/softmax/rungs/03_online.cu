// 03 online: largest element and sum in one pass; when a larger element comes, the sum so far is scaled down to it.
//
// Moves: reads of x, from three to two; barriers, from 17 to 1, since lanes hand on what they have by shuffles.
// Mapping: one block per row; thread t -> elements t, t + 128, t + 256 ..., once for the pair and once for the result.
//   Two pairs (largest, sum) become one in any order, so a warp's lanes and a block's warps are put together in a tree.
//
// entry: softmax_online
// block: 128
// grid: rows

#include <math_constants.h>

constexpr int THREADS = 128;
constexpr int WARPS = THREADS / 32;
constexpr unsigned int ALL_LANES = 0xffffffffu;

struct Running {
    float largest, sum;
};

// The sum of exponentials taken from `from` down, taken from `to` down instead. Nothing yet (-Inf) stays a sum of 0:
// -Inf - -Inf would make it NaN.
__device__ __forceinline__ float rescaled(float sum, float from, float to)
{
    return sum * __expf(from - (to == -CUDART_INF_F ? 0.0f : to));
}

__device__ __forceinline__ Running joined(Running a, Running b)
{
    const float largest = fmaxf(a.largest, b.largest);
    return {largest, rescaled(a.sum, a.largest, largest) + rescaled(b.sum, b.largest, largest)};
}

extern "C" __global__ void __launch_bounds__(THREADS) softmax_online(
    const float* __restrict__ x, float* __restrict__ y, int rows, int columns)
{
    __shared__ Running of_warps[WARPS];
    const long long start = (long long)blockIdx.x * columns;
    const int t = threadIdx.x;

    Running row = {-CUDART_INF_F, 0.0f};
    for (int i = t; i < columns; i += THREADS) row = joined(row, {x[start + i], 1.0f});
    for (int offset = 16; offset > 0; offset /= 2) {
        const float largest = __shfl_xor_sync(ALL_LANES, row.largest, offset);
        row = joined(row, {largest, __shfl_xor_sync(ALL_LANES, row.sum, offset)});
    }
    if (t % 32 == 0) of_warps[t / 32] = row;
    __syncthreads();
    row = of_warps[0];
    for (int w = 1; w < WARPS; ++w) row = joined(row, of_warps[w]);

    const float factor = 1.0f / row.sum;
    for (int i = t; i < columns; i += THREADS) y[start + i] = __expf(x[start + i] - row.largest) * factor;
}
