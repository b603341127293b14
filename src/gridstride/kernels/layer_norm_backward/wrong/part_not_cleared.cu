// Part not cleared: what lay in memory is added to.
//
// entry: layer_norm_backward_part_not_cleared
// block: 128
// grid: parts
// expect: uninitialised_read

constexpr int THREADS = 128;
constexpr int WARPS = THREADS / 32;

// Both sums over the block, in every thread.
__device__ float2 block_sums(float2 value, int turn)
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

extern "C" __global__ void __launch_bounds__(THREADS) layer_norm_backward_part_not_cleared(
    const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ dy,
    const float* __restrict__ mean, const float* __restrict__ rstd, float* __restrict__ dx,
    float* __restrict__ dweight, float* __restrict__ dbias, int rows, int columns, int parts)
{
    const int t = threadIdx.x;
    float *weights = dweight + (long long)blockIdx.x * columns, *biases = dbias + (long long)blockIdx.x * columns;
    for (int row = blockIdx.x, turn = 0; row < rows; row += parts, turn ^= 1) {
        const long long start = (long long)row * columns;
        const float centre = mean[row], scale = rstd[row];
        float2 sums = make_float2(0.0f, 0.0f);
        for (int i = t; i < columns; i += THREADS) {
            const float g = dy[start + i] * weight[i];
            sums.x += g;
            sums.y += g * ((x[start + i] - centre) * scale);
        }
        sums = block_sums(sums, turn);
        sums.x /= columns, sums.y /= columns;
        for (int i = t; i < columns; i += THREADS) {
            const float normed = (x[start + i] - centre) * scale, slope = dy[start + i];
            dx[start + i] = scale * (slope * weight[i] - sums.x - normed * sums.y);
            weights[i] += slope * normed;  // <- here
            biases[i] += slope;            // <- here
        }
    }
}
