// 02 block per row: lanes run along a row. No thread waits for another, since lse has what the row has in common.
//
// Moves: sectors per request, from 32 to 4; rows in flight fill the GPU.
// Mapping: one block per row; thread t -> elements t, t + 256, t + 512 ...
//
// entry: cross_entropy_backward_block_per_row
// block: 256
// grid: rows

#include <math_constants.h>

constexpr int THREADS = 256;

extern "C" __global__ void __launch_bounds__(THREADS) cross_entropy_backward_block_per_row(
    const float* logits, const long long* labels, const float* lse, const float* dloss,
    float* dlogits, int rows, int classes, long long ignore_index)
{
    const int row = blockIdx.x;
    const long long label = labels[row], start = (long long)row * classes;
    const bool ignored = label == ignore_index;
    const float slope = label >= 0 && label < classes ? dloss[row] : CUDART_NAN_F, shift = lse[row];
    for (int i = threadIdx.x; i < classes; i += THREADS) {
        const float p = ignored ? 0.0f : __expf(logits[start + i] - shift);
        dlogits[start + i] = ignored ? 0.0f : slope * (p - (i == label ? 1.0f : 0.0f));
    }
}
