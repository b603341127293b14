// First slope: after a mean all rows have the same, after anything else each has its own.
//
// entry: cross_entropy_backward_first_slope
// block: 128
// grid: rows
// expect: wrong_result

#include <math_constants.h>

extern "C" __global__ void cross_entropy_backward_first_slope(
    const float* logits, const long long* labels, const float* lse, const float* dloss,
    float* dlogits, int rows, int classes, long long ignore_index)
{
    const int row = blockIdx.x;
    const long long label = labels[row], start = (long long)row * classes;
    const float slope = label >= 0 && label < classes ? dloss[0] : CUDART_NAN_F;
    for (int i = threadIdx.x; i < classes; i += 128)
        dlogits[start + i] =
            label == ignore_index ? 0.0f : slope * (expf(logits[start + i] - lse[row]) - (i == label ? 1.0f : 0.0f));
}
