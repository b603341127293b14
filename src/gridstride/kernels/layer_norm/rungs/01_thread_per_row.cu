// 01 thread per row: one thread goes over a row three times, for the mean, the variance and the result.
//
// Moves: nothing yet. Neighbouring lanes read elements a row apart, so every request touches 32 sectors.
// Mapping: thread t of block b -> row b * 32 + t.
//
// entry: layer_norm_thread_per_row
// block: 32
// grid: ceil(rows/32)

extern "C" __global__ void layer_norm_thread_per_row(
    const float* x, const float* weight, const float* bias, float* y, float* mean, float* rstd,
    int rows, int columns, float eps)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const long long start = (long long)row * columns;
    float sum = 0.0f, squares = 0.0f;
    for (int i = 0; i < columns; ++i) sum += x[start + i];
    const float centre = sum / columns;
    for (int i = 0; i < columns; ++i) squares += (x[start + i] - centre) * (x[start + i] - centre);
    const float scale = 1.0f / sqrtf(squares / columns + eps);
    for (int i = 0; i < columns; ++i) y[start + i] = (x[start + i] - centre) * scale * weight[i] + bias[i];
    mean[row] = centre;
    rstd[row] = scale;
}
