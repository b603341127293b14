// Ignored times zero: the loss of an ignored row is multiplied away, and 0 times Inf or NaN is NaN.
//
// entry: cross_entropy_ignored_times_zero
// block: 32
// grid: ceil(rows/32)
// expect: wrong_result

#include <math_constants.h>

extern "C" __global__ void cross_entropy_ignored_times_zero(
    const float* logits, const long long* labels, float* loss, float* lse, int rows, int classes,
    long long ignore_index)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const long long label = labels[row];
    const float* x = logits + (long long)row * classes;
    float largest = -CUDART_INF_F;
    for (int i = 0; i < classes; ++i) largest = fmaxf(largest, x[i]);
    const float base = largest == -CUDART_INF_F ? 0.0f : largest;
    float sum = 0.0f;
    for (int i = 0; i < classes; ++i) sum += expf(x[i] - base);
    const float log_sum = logf(sum);
    lse[row] = largest + log_sum;
    const float counts = label == ignore_index ? 0.0f : 1.0f;
    lse[row] *= counts;
    const bool there = label >= 0 && label < classes;
    loss[row] = there || !counts ? counts * (largest - x[there ? label : 0] + log_sum) : CUDART_NAN_F;
}
