// grid: 1
// block: 1
// One thread, in float64, online from the last element on; what is -Inf is passed over, and a row of nothing else ends in 0 / 0.
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    for (int r = 0; r < rows; ++r) {
        const float* a = x + (size_t)r * columns;
        double m = -INFINITY, s = 0;
        for (int i = columns - 1; i >= 0; --i) {
            if (a[i] == -INFINITY) continue;
            if (a[i] > m) {
                s = s * exp(m - a[i]) + exp(double(a[i]) - a[i]);  // Inf - Inf: NaN
                m = a[i];
            } else {
                s += exp(a[i] - m);
            }
        }
        for (int i = 0; i < columns; ++i) y[(size_t)r * columns + i] = float(exp(a[i] - m) / s);
    }
}
