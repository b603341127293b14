// grid: 1
// block: 1
// One thread, in float64.
__global__ void bwd(const float* y, const float* dy, float* dx, int rows, int columns)
{
    for (size_t r = 0; r < rows; ++r) {
        double s = 0;
        for (int i = 0; i < columns; ++i) s += (double)y[r * columns + i] * dy[r * columns + i];
        for (int i = 0; i < columns; ++i) dx[r * columns + i] = float(y[r * columns + i] * (dy[r * columns + i] - s));
    }
}
