// Diagonal only: dx = y (1 - y) dy, each element by itself, without what it takes from the others.
//
// entry: softmax_backward_diagonal_only
// block: 32
// grid: ceil(rows/32)
// expect: wrong_result

extern "C" __global__ void softmax_backward_diagonal_only(
    const float* y, const float* dy, float* dx, int rows, int columns)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    for (long long i = (long long)row * columns; i < (long long)(row + 1) * columns; ++i)
        dx[i] = y[i] * (1.0f - y[i]) * dy[i];
}
