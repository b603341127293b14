// Odd rows by vectors: the array begins at a multiple of 16 bytes, but with an odd number of classes not every row
// does.
//
// entry: cross_entropy_odd_rows_by_vectors
// block: 32
// grid: rows
// expect: misaligned

#include <math_constants.h>

extern "C" __global__ void cross_entropy_odd_rows_by_vectors(
    const float* logits, const long long* labels, float* loss, float* lse, int rows, int classes,
    long long ignore_index)
{
    const int row = blockIdx.x, t = threadIdx.x;
    const long long label = labels[row];
    if (label == ignore_index) {
        if (t == 0) loss[row] = lse[row] = 0.0f;
        return;
    }
    const float* x = logits + (long long)row * classes;
    const int whole = ((size_t)logits & 15) == 0 ? classes / 4 * 4 : 0;
    float largest = -CUDART_INF_F, sum = 0.0f;
    for (int i = 4 * t; i < whole; i += 128) {
        const float4 a = *reinterpret_cast<const float4*>(x + i);  // <- here
        largest = fmaxf(largest, fmaxf(fmaxf(a.x, a.y), fmaxf(a.z, a.w)));
    }
    for (int i = whole + t; i < classes; i += 32) largest = fmaxf(largest, x[i]);
    for (int offset = 16; offset > 0; offset /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
    const float base = largest == -CUDART_INF_F ? 0.0f : largest;
    for (int i = t; i < classes; i += 32) sum += expf(x[i] - base);
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (t != 0) return;
    const float log_sum = logf(sum);
    lse[row] = largest + log_sum;
    loss[row] = label >= 0 && label < classes ? largest - x[label] + log_sum : CUDART_NAN_F;
}
