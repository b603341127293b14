// fault: online; a row that begins with -Inf takes -Inf from -Inf before its first finite element, and is NaN
// kinds: wrong_result
// grid: 1
// block: 1
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    for (int r = 0; r < rows; ++r) {
        const float* a = x + (size_t)r * columns;
        double m = -INFINITY, s = 0;
        for (int i = 0; i < columns; ++i) {
            if (a[i] > m) {
                s = s * exp(m - a[i]) + 1;
                m = a[i];
            } else {
                s += exp(a[i] - m);
            }
        }
        for (int i = 0; i < columns; ++i) y[(size_t)r * columns + i] = float(exp(a[i] - m) / s);
    }
}
