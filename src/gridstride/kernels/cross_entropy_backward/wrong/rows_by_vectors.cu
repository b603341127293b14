// Rows by vectors: with a number of classes that is no multiple of four, rows begin between two vectors.
//
// entry: cross_entropy_backward_rows_by_vectors
// block: 128
// grid: rows
// expect: misaligned

#include <math_constants.h>

extern "C" __global__ void cross_entropy_backward_rows_by_vectors(
    const float* logits, const long long* labels, const float* lse, const float* dloss,
    float* dlogits, int rows, int classes, long long ignore_index)
{
    const int row = blockIdx.x;
    const long long label = labels[row], start = (long long)row * classes;
    const float slope = label >= 0 && label < classes ? dloss[row] : CUDART_NAN_F;
    for (int i = 4 * threadIdx.x; i < classes; i += 4 * 128) {
        float x[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        const bool whole = i + 4 <= classes;
        if (whole) *reinterpret_cast<float4*>(x) = *reinterpret_cast<const float4*>(logits + start + i);  // <- here
        for (int e = 0; e < 4 && i + e < classes; ++e)
            dlogits[start + i + e] =
                label == ignore_index ? 0.0f : slope * (expf((whole ? x[e] : logits[start + i + e]) - lse[row])
                                                        - (i + e == label ? 1.0f : 0.0f));
    }
}
