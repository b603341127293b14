// 01 thread per row: one thread goes over a row twice, for the largest logit and for the sum.
//
// Moves: nothing yet. Neighbouring lanes read elements a row apart, so every request touches 32 sectors.
// Mapping: thread t of block b -> row b * 32 + t.
//
// entry: cross_entropy_thread_per_row
// block: 32
// grid: ceil(rows/32)

#include <math_constants.h>

extern "C" __global__ void cross_entropy_thread_per_row(
    const float* logits, const long long* labels, float* loss, float* lse, int rows, int classes,
    long long ignore_index)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const long long label = labels[row];
    if (label == ignore_index) {  // before anything is read at it
        loss[row] = lse[row] = 0.0f;
        return;
    }
    const float* x = logits + (long long)row * classes;
    float largest = -CUDART_INF_F;
    for (int i = 0; i < classes; ++i) largest = fmaxf(largest, x[i]);
    const float base = largest == -CUDART_INF_F ? 0.0f : largest;  // -Inf - -Inf would be NaN
    float sum = 0.0f;
    for (int i = 0; i < classes; ++i) sum += expf(x[i] - base);
    const float log_sum = logf(sum);
    lse[row] = largest + log_sum;
    // Not lse - x[label]: of two large numbers the difference has the rounding errors.
    loss[row] = label >= 0 && label < classes ? largest - x[label] + log_sum : CUDART_NAN_F;
}
