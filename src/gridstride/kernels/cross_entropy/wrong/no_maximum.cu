// No maximum: exponentials of the logits as they are overflow from 89 on, and vanish below -104.
//
// entry: cross_entropy_no_maximum
// block: 32
// grid: ceil(rows/32)
// expect: wrong_result

#include <math_constants.h>

extern "C" __global__ void cross_entropy_no_maximum(
    const float* logits, const long long* labels, float* loss, float* lse, int rows, int classes,
    long long ignore_index)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const long long label = labels[row];
    if (label == ignore_index) {
        loss[row] = lse[row] = 0.0f;
        return;
    }
    const float* x = logits + (long long)row * classes;
    float sum = 0.0f;
    for (int i = 0; i < classes; ++i) sum += expf(x[i]);
    lse[row] = logf(sum);
    loss[row] = label >= 0 && label < classes ? logf(sum) - x[label] : CUDART_NAN_F;
}
