// 02 block per row: lanes run along a row; mean and variance come from one pass, by Welford's update.
//
// Moves: sectors per request, from 32 to 4; reads of x, from three to two; rows in flight fill the GPU.
// Mapping: one block per row; thread t -> elements t, t + 128, t + 256 ..., once for mean and variance and once for the
//   result. (count, mean, squares) of two stretches make those of both: lanes by shuffles, warps through shared memory.
//
// entry: layer_norm_block_per_row
// block: 128
// grid: rows

constexpr int THREADS = 128;
constexpr int WARPS = THREADS / 32;
constexpr unsigned int ALL_LANES = 0xffffffffu;

struct Moments {
    float count, mean, squares;  // squares: of the distances from the mean, added up
};

// Chan, Golub and LeVeque's formula for two stretches. Each difference is of the size of the deviation, so nothing
// cancels, however far the row is from 0.
__device__ __forceinline__ Moments joined(Moments a, Moments b)
{
    const float count = a.count + b.count, share = count > 0.0f ? b.count / count : 0.0f, apart = b.mean - a.mean;
    return {count, a.mean + apart * share, a.squares + b.squares + apart * apart * a.count * share};
}

__device__ __forceinline__ Moments handed_over(Moments m, int offset)
{
    return {
        __shfl_xor_sync(ALL_LANES, m.count, offset), __shfl_xor_sync(ALL_LANES, m.mean, offset),
        __shfl_xor_sync(ALL_LANES, m.squares, offset)};
}

extern "C" __global__ void __launch_bounds__(THREADS) layer_norm_block_per_row(
    const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
    float* __restrict__ y, float* __restrict__ mean, float* __restrict__ rstd, int rows, int columns, float eps)
{
    __shared__ Moments of_warps[WARPS];
    const long long start = (long long)blockIdx.x * columns;
    const int t = threadIdx.x;

    Moments row = {0.0f, 0.0f, 0.0f};
    for (int i = t; i < columns; i += THREADS) {
        const float apart = x[start + i] - row.mean;
        row.count += 1.0f;
        row.mean += apart / row.count;
        row.squares += apart * (x[start + i] - row.mean);
    }
    for (int offset = 16; offset > 0; offset /= 2) row = joined(row, handed_over(row, offset));
    if (t % 32 == 0) of_warps[t / 32] = row;
    __syncthreads();
    row = of_warps[0];
    for (int w = 1; w < WARPS; ++w) row = joined(row, of_warps[w]);

    const float scale = rsqrtf(row.squares / columns + eps);
    for (int i = t; i < columns; i += THREADS) y[start + i] = (x[start + i] - row.mean) * scale * weight[i] + bias[i];
    if (t == 0) {
        mean[blockIdx.x] = row.mean;
        rstd[blockIdx.x] = scale;
    }
}
