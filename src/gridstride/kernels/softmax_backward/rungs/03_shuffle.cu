// 03 shuffle: the lanes of a warp hand their sums to each other through registers.
//
// Moves: barriers per row, from 8 to 1; shared accesses, from three per thread and round to one per warp.
// Mapping: one block per row; thread t -> elements t, t + 128, t + 256 ..., once for the sum and once for the result.
//   Every warp adds up its lanes and puts the sum in shared memory; everyone adds up the four.
//
// entry: softmax_backward_shuffle
// block: 128
// grid: rows

constexpr int THREADS = 128;
constexpr int WARPS = THREADS / 32;

extern "C" __global__ void __launch_bounds__(THREADS) softmax_backward_shuffle(
    const float* __restrict__ y, const float* __restrict__ dy, float* __restrict__ dx, int rows, int columns)
{
    __shared__ float of_warps[WARPS];
    const long long start = (long long)blockIdx.x * columns;
    const int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = t; i < columns; i += THREADS) sum += y[start + i] * dy[start + i];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (t % 32 == 0) of_warps[t / 32] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int w = 0; w < WARPS; ++w) sum += of_warps[w];
    for (int i = t; i < columns; i += THREADS) dx[start + i] = y[start + i] * (dy[start + i] - sum);
}
