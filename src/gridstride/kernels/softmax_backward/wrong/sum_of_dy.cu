// Sum of dy: the sum is that of dy alone, without y, as if all of the row had the same share.
//
// entry: softmax_backward_sum_of_dy
// block: 32
// grid: ceil(rows/32)
// expect: wrong_result

extern "C" __global__ void softmax_backward_sum_of_dy(
    const float* y, const float* dy, float* dx, int rows, int columns)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const long long start = (long long)row * columns;
    float sum = 0.0f;
    for (int i = 0; i < columns; ++i) sum += dy[start + i];
    for (int i = 0; i < columns; ++i) dx[start + i] = y[start + i] * (dy[start + i] - sum);
}
