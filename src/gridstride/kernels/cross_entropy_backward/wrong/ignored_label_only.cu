// Ignored label only: an ignored row has no 1 to take away, and still its probabilities for a gradient.
//
// entry: cross_entropy_backward_ignored_label_only
// block: 128
// grid: rows
// expect: wrong_result

#include <math_constants.h>

extern "C" __global__ void cross_entropy_backward_ignored_label_only(
    const float* logits, const long long* labels, const float* lse, const float* dloss,
    float* dlogits, int rows, int classes, long long ignore_index)
{
    const int row = blockIdx.x;
    const long long label = labels[row], start = (long long)row * classes;
    const float slope = label == ignore_index || label >= 0 && label < classes ? dloss[row] : CUDART_NAN_F;
    for (int i = threadIdx.x; i < classes; i += 128)
        dlogits[start + i] =
            slope * (expf(logits[start + i] - lse[row]) - (label != ignore_index && i == label ? 1.0f : 0.0f));
}
