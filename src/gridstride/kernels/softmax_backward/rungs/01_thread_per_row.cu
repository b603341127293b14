// 01 thread per row: one thread goes over a row twice, for the sum and for the result.
//
// Moves: nothing yet. Neighbouring lanes read elements a row apart, so every request touches 32 sectors.
// Mapping: thread t of block b -> row b * 32 + t.
//
// entry: softmax_backward_thread_per_row
// block: 32
// grid: ceil(rows/32)

extern "C" __global__ void softmax_backward_thread_per_row(
    const float* y, const float* dy, float* dx, int rows, int columns)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const long long start = (long long)row * columns;
    float sum = 0.0f;
    for (int i = 0; i < columns; ++i) sum += y[start + i] * dy[start + i];
    for (int i = 0; i < columns; ++i) dx[start + i] = y[start + i] * (dy[start + i] - sum);
}
