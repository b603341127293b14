// grid: 1
// block: 1
// One thread, sums in double.
__global__ void rms_norm_backward(
    const float* x, const float* weight, const float* dy, float* dx, float* partial, int rows, int columns, int parts,
    float eps)
{
    for (int c = 0; c < parts * columns; c++) partial[c] = 0;
    for (int row = 0; row < rows; row++) {
        size_t at = (size_t)row * columns;
        double a = 0, b = 0;
        for (int c = 0; c < columns; c++) {
            a += (double)x[at + c] * x[at + c];
            b += (double)dy[at + c] * weight[c] * x[at + c];
        }
        double r = 1 / sqrt(a / columns + eps), mean = b * r / columns;
        for (int c = 0; c < columns; c++) {
            dx[at + c] = r * ((double)dy[at + c] * weight[c] - x[at + c] * r * mean);
            partial[(size_t)(row % parts) * columns + c] += dy[at + c] * (x[at + c] * r);
        }
    }
}
