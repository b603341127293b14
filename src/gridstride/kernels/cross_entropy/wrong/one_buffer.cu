// One buffer: the sums go where the maxima are, while slower warps still read those.
//
// entry: cross_entropy_one_buffer
// block: 128
// grid: rows
// expect: race

#include <math_constants.h>

extern "C" __global__ void cross_entropy_one_buffer(
    const float* logits, const long long* labels, float* loss, float* lse, int rows, int classes,
    long long ignore_index)
{
    __shared__ float of_warps[4];
    const int row = blockIdx.x, t = threadIdx.x;
    const long long label = labels[row];
    if (label == ignore_index) {
        if (t == 0) loss[row] = lse[row] = 0.0f;
        return;
    }
    const float* x = logits + (long long)row * classes;
    float value = -CUDART_INF_F;
    for (int i = t; i < classes; i += 128) value = fmaxf(value, x[i]);
    for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
    if (t % 32 == 0) of_warps[t / 32] = value;  // <- here
    __syncthreads();
    const float largest = fmaxf(fmaxf(of_warps[0], of_warps[1]), fmaxf(of_warps[2], of_warps[3]));  // <- here
    const float base = largest == -CUDART_INF_F ? 0.0f : largest;
    value = 0.0f;
    for (int i = t; i < classes; i += 128) value += expf(x[i] - base);
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
    if (t % 32 == 0) of_warps[t / 32] = value;  // <- here
    __syncthreads();
    if (t != 0) return;
    const float log_sum = logf(of_warps[0] + of_warps[1] + of_warps[2] + of_warps[3]);
    lse[row] = largest + log_sum;
    loss[row] = label >= 0 && label < classes ? largest - x[label] + log_sum : CUDART_NAN_F;
}
