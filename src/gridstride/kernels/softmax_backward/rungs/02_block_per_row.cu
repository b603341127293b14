// 02 block per row: lanes run along a row; the products are added up pairwise in shared memory.
//
// Moves: sectors per request, from 32 to 4; rows in flight fill the GPU.
// Mapping: one block per row; thread t -> elements t, t + 128, t + 256 ..., once for the sum and once for the result.
//   In each round of the tree thread t < s takes what thread t + s has.
//
// entry: softmax_backward_block_per_row
// block: 128
// grid: rows

constexpr int THREADS = 128;

extern "C" __global__ void __launch_bounds__(THREADS) softmax_backward_block_per_row(
    const float* y, const float* dy, float* dx, int rows, int columns)
{
    __shared__ float partial[THREADS];
    const long long start = (long long)blockIdx.x * columns;
    const int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = t; i < columns; i += THREADS) sum += y[start + i] * dy[start + i];
    partial[t] = sum;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (t < s) partial[t] += partial[t + s];
        __syncthreads();
    }
    sum = partial[0];
    for (int i = t; i < columns; i += THREADS) dx[start + i] = y[start + i] * (dy[start + i] - sum);
}
