// Eps outside: added to the deviation instead of to the variance under the root.
//
// entry: layer_norm_eps_outside
// block: 32
// grid: ceil(rows/32)
// expect: wrong_result

extern "C" __global__ void layer_norm_eps_outside(
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
    const float scale = 1.0f / (sqrtf(squares / columns) + eps);
    for (int i = 0; i < columns; ++i) y[start + i] = (x[start + i] - centre) * scale * weight[i] + bias[i];
    mean[row] = centre;
    rstd[row] = scale;
}
