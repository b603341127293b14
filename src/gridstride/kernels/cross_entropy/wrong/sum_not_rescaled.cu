// Sum not rescaled: a larger logit takes over as the maximum, and the sum so far stays as it was.
//
// entry: cross_entropy_sum_not_rescaled
// block: 32
// grid: ceil(rows/32)
// expect: wrong_result

#include <math_constants.h>

extern "C" __global__ void cross_entropy_sum_not_rescaled(
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
    float largest = -CUDART_INF_F, sum = 0.0f;
    for (int i = 0; i < classes; ++i) {
        largest = fmaxf(largest, x[i]);
        sum += expf(x[i] - (largest == -CUDART_INF_F ? 0.0f : largest));
    }
    lse[row] = largest + logf(sum);
    loss[row] = label >= 0 && label < classes ? largest - x[label] + logf(sum) : CUDART_NAN_F;
}
