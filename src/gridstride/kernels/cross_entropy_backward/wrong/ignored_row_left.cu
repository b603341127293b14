// Ignored row left: nothing is to be computed there, and so nothing is written: the gradient is what the memory held.
//
// entry: cross_entropy_backward_ignored_row_left
// block: 128
// grid: rows
// expect: wrong_result

#include <math_constants.h>

extern "C" __global__ void cross_entropy_backward_ignored_row_left(
    const float* logits, const long long* labels, const float* lse, const float* dloss,
    float* dlogits, int rows, int classes, long long ignore_index)
{
    const int row = blockIdx.x;
    const long long label = labels[row], start = (long long)row * classes;
    if (label == ignore_index) return;
    const float slope = label >= 0 && label < classes ? dloss[row] : CUDART_NAN_F;
    for (int i = threadIdx.x; i < classes; i += 128)
        dlogits[start + i] = slope * (expf(logits[start + i] - lse[row]) - (i == label ? 1.0f : 0.0f));
}
