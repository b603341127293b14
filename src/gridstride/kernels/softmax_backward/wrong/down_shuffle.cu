// Down shuffle: after shuffles downwards only lane 0 has the sum of its warp, and every lane takes its own.
//
// entry: softmax_backward_down_shuffle
// block: 32
// grid: rows
// expect: wrong_result

extern "C" __global__ void softmax_backward_down_shuffle(
    const float* y, const float* dy, float* dx, int rows, int columns)
{
    const long long start = (long long)blockIdx.x * columns;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 32) sum += y[start + i] * dy[start + i];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    for (int i = threadIdx.x; i < columns; i += 32) dx[start + i] = y[start + i] * (dy[start + i] - sum);
}
