// Label afterwards: thread 0 takes the 1 away behind the loop, while another thread has yet to write there.
//
// entry: cross_entropy_backward_label_afterwards
// block: 128
// grid: rows
// expect: race

#include <math_constants.h>

extern "C" __global__ void cross_entropy_backward_label_afterwards(
    const float* logits, const long long* labels, const float* lse, const float* dloss,
    float* dlogits, int rows, int classes, long long ignore_index)
{
    const int row = blockIdx.x;
    const long long label = labels[row], start = (long long)row * classes;
    const float slope = label >= 0 && label < classes ? dloss[row] : CUDART_NAN_F;
    for (int i = threadIdx.x; i < classes; i += 128)
        dlogits[start + i] = label == ignore_index ? 0.0f : slope * expf(logits[start + i] - lse[row]);  // <- here
    if (threadIdx.x == 0 && label != ignore_index && label >= 0 && label < classes)
        dlogits[start + label] -= slope;  // <- here
}
