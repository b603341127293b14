// Always -100: what is ignored is a parameter, not PyTorch's default.
//
// entry: cross_entropy_always_minus_100
// block: 32
// grid: ceil(rows/32)
// expect: wrong_result

#include <math_constants.h>

extern "C" __global__ void cross_entropy_always_minus_100(
    const float* logits, const long long* labels, float* loss, float* lse, int rows, int classes,
    long long ignore_index)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const long long label = labels[row];
    if (label == -100) {
        loss[row] = lse[row] = 0.0f;
        return;
    }
    const float* x = logits + (long long)row * classes;
    float largest = -CUDART_INF_F;
    for (int i = 0; i < classes; ++i) largest = fmaxf(largest, x[i]);
    const float base = largest == -CUDART_INF_F ? 0.0f : largest;
    float sum = 0.0f;
    for (int i = 0; i < classes; ++i) sum += expf(x[i] - base);
    const float log_sum = logf(sum);
    lse[row] = largest + log_sum;
    loss[row] = label >= 0 && label < classes ? largest - x[label] + log_sum : CUDART_NAN_F;
}
