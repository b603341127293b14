// 02 block per row: lanes run along a row; largest logit and sum are found pairwise in shared memory.
//
// Moves: sectors per request, from 32 to 4; rows in flight fill the GPU.
// Mapping: one block per row; thread t -> elements t, t + 128, t + 256 ..., once for the largest logit and once for the
//   sum. In each round of a tree thread t < s takes what thread t + s has. Thread 0 writes.
//
// entry: cross_entropy_block_per_row
// block: 128
// grid: rows

#include <math_constants.h>

constexpr int THREADS = 128;

extern "C" __global__ void __launch_bounds__(THREADS) cross_entropy_block_per_row(
    const float* logits, const long long* labels, float* loss, float* lse, int rows, int classes,
    long long ignore_index)
{
    __shared__ float partial[THREADS];
    const int row = blockIdx.x, t = threadIdx.x;
    const long long label = labels[row];
    if (label == ignore_index) {  // the whole block, so that nobody waits at a barrier
        if (t == 0) loss[row] = lse[row] = 0.0f;
        return;
    }
    const float* x = logits + (long long)row * classes;

    float largest = -CUDART_INF_F;
    for (int i = t; i < classes; i += THREADS) largest = fmaxf(largest, x[i]);
    partial[t] = largest;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (t < s) partial[t] = fmaxf(partial[t], partial[t + s]);
        __syncthreads();
    }
    largest = partial[0];
    __syncthreads();  // everyone has read it before it becomes a sum

    const float base = largest == -CUDART_INF_F ? 0.0f : largest;
    float sum = 0.0f;
    for (int i = t; i < classes; i += THREADS) sum += expf(x[i] - base);
    partial[t] = sum;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (t < s) partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0) {
        const float log_sum = logf(partial[0]);
        lse[row] = largest + log_sum;
        loss[row] = label >= 0 && label < classes ? largest - x[label] + log_sum : CUDART_NAN_F;
    }
}
