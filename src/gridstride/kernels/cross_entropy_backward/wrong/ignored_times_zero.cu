// Ignored times zero: 0 times an Inf or a NaN in the padding is NaN.
//
// entry: cross_entropy_backward_ignored_times_zero
// block: 128
// grid: rows
// expect: wrong_result

#include <math_constants.h>

extern "C" __global__ void cross_entropy_backward_ignored_times_zero(
    const float* logits, const long long* labels, const float* lse, const float* dloss,
    float* dlogits, int rows, int classes, long long ignore_index)
{
    const int row = blockIdx.x;
    const long long label = labels[row], start = (long long)row * classes;
    const bool ignored = label == ignore_index;
    const float slope = ignored ? 0.0f : label >= 0 && label < classes ? dloss[row] : CUDART_NAN_F;
    for (int i = threadIdx.x; i < classes; i += 128)
        dlogits[start + i] = slope * (expf(logits[start + i] - lse[row]) - (i == label ? 1.0f : 0.0f));
}
