// grid: 1
// block: 1
// One thread, in float64, with the squares multiplied out: at that width nothing is lost that counts.
__global__ void norm(const float* x, const float* weight, const float* bias, float* y, float* mean, float* rstd, int rows, int columns, float eps)
{
    for (int row = 0; row < rows; ++row) {
        const size_t at = (size_t)row * columns;
        double s = 0, q = 0;
        for (int i = 0; i < columns; ++i) s += x[at + i], q += (double)x[at + i] * x[at + i];
        const double c = s / columns, r = 1 / sqrt(q / columns - c * c + eps);
        for (int i = 0; i < columns; ++i) y[at + i] = float((x[at + i] - c) * r * weight[i] + bias[i]);
        mean[row] = float(c);
        rstd[row] = float(r);
    }
}
