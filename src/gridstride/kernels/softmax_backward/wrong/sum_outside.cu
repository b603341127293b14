// Sum outside: y dy - sum, the sum not scaled by y.
//
// entry: softmax_backward_sum_outside
// block: 32
// grid: ceil(rows/32)
// expect: wrong_result

extern "C" __global__ void softmax_backward_sum_outside(
    const float* y, const float* dy, float* dx, int rows, int columns)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const long long start = (long long)row * columns;
    float sum = 0.0f;
    for (int i = 0; i < columns; ++i) sum += y[start + i] * dy[start + i];
    for (int i = 0; i < columns; ++i) dx[start + i] = y[start + i] * dy[start + i] - sum;
}
