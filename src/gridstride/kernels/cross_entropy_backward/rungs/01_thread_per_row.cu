// 01 thread per row: one thread goes over a row.
//
// Moves: nothing yet. Neighbouring lanes read and write elements a row apart, 32 sectors a request.
// Mapping: thread t of block b -> row b * 32 + t.
//
// entry: cross_entropy_backward_thread_per_row
// block: 32
// grid: ceil(rows/32)

#include <math_constants.h>

extern "C" __global__ void cross_entropy_backward_thread_per_row(
    const float* logits, const long long* labels, const float* lse, const float* dloss,
    float* dlogits, int rows, int classes, long long ignore_index)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const long long label = labels[row], start = (long long)row * classes;
    const bool ignored = label == ignore_index;  // its logits are not looked at: 0 times NaN would be NaN
    const float slope = label >= 0 && label < classes ? dloss[row] : CUDART_NAN_F;
    for (int i = 0; i < classes; ++i)
        dlogits[start + i] = ignored ? 0.0f : slope * (expf(logits[start + i] - lse[row]) - (i == label ? 1.0f : 0.0f));
}
