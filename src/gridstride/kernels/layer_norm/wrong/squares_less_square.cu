// Squares less square: the mean of squares less the square of the mean has no digit left far from 0.
//
// entry: layer_norm_squares_less_square
// block: 32
// grid: ceil(rows/32)
// expect: wrong_result

extern "C" __global__ void layer_norm_squares_less_square(
    const float* x, const float* weight, const float* bias, float* y, float* mean, float* rstd,
    int rows, int columns, float eps)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const long long start = (long long)row * columns;
    float sum = 0.0f, squares = 0.0f;
    for (int i = 0; i < columns; ++i) {
        sum += x[start + i];
        squares += x[start + i] * x[start + i];
    }
    const float centre = sum / columns, scale = rsqrtf(fmaxf(squares / columns - centre * centre, 0.0f) + eps);
    for (int i = 0; i < columns; ++i) y[start + i] = (x[start + i] - centre) * scale * weight[i] + bias[i];
    mean[row] = centre;
    rstd[row] = scale;
}
