// 03 online: largest logit and sum in one pass; when a larger logit comes, the sum so far is scaled down to it.
//
// Moves: reads of the logits, from two to one; barriers, from 17 to 1, since lanes hand on what they have by shuffles.
// Mapping: one block per row; thread t -> elements t, t + 128, t + 256 ... Two pairs (largest, sum) become one in any
//   order, so a warp's lanes and a block's warps are put together in a tree. Thread 0 writes.
//
// entry: cross_entropy_online
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

extern "C" __global__ void __launch_bounds__(THREADS) cross_entropy_online(
    const float* logits, const long long* labels, float* loss, float* lse, int rows, int classes,
    long long ignore_index)
{
    __shared__ Running of_warps[WARPS];
    const int row = blockIdx.x, t = threadIdx.x;
    const long long label = labels[row];
    if (label == ignore_index) {
        if (t == 0) loss[row] = lse[row] = 0.0f;
        return;
    }
    const float* x = logits + (long long)row * classes;

    Running of_row = {-CUDART_INF_F, 0.0f};
    for (int i = t; i < classes; i += THREADS) of_row = joined(of_row, {x[i], 1.0f});
    for (int offset = 16; offset > 0; offset /= 2) {
        const float largest = __shfl_xor_sync(ALL_LANES, of_row.largest, offset);
        of_row = joined(of_row, {largest, __shfl_xor_sync(ALL_LANES, of_row.sum, offset)});
    }
    if (t % 32 == 0) of_warps[t / 32] = of_row;
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < WARPS; ++w) of_row = joined(of_row, of_warps[w]);
        const float log_sum = logf(of_row.sum);
        lse[row] = of_row.largest + log_sum;
        loss[row] = label >= 0 && label < classes ? of_row.largest - x[label] + log_sum : CUDART_NAN_F;
    }
}
