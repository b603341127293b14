// For pictures of the whole Mandelbrot set: how many squares are divided,
// and how often a pixel is counted. Reckoned on the host; no kernel runs.

#include <cstdio>

constexpr int MOST = 64, SMALLEST = 8;
int n, divided;
long long counted;

int count(int row, int column)
{
    ++counted;
    const double cx = -2 + 2.5 / n * column, cy = -1.25 + 2.5 / n * row;
    double x = 0, y = 0;
    for (int k = 0; k < MOST; ++k) {
        const double xx = x * x, yy = y * y;
        if (xx + yy > 4) return k;
        y = 2 * x * y + cy;
        x = xx - yy + cx;
    }
    return MOST;
}

void square(int row, int column, int side)
{
    const int first = count(row, column), last = side - 1;
    bool same = true;
    for (int k = 0; k < side; ++k) {
        same = (count(row, column + k) == first) & same;
        same = (count(row + last, column + k) == first) & same;
        same = (count(row + k, column) == first) & same;
        same = (count(row + k, column + last) == first) & same;
    }
    if (same) return;
    if (side <= SMALLEST) {
        counted += side * side;
        return;
    }
    ++divided;
    for (int q = 0; q < 4; ++q) {
        square(row + q / 2 * side / 2, column + q % 2 * side / 2, side / 2);
    }
}

int main()
{
    printf("    n    pixels  divided  counted, for each pixel\n");
    for (n = 64; n <= 4096; n *= 4) {
        divided = 0, counted = 0;
        square(0, 0, n);
        printf("%5d %9d  %7d  %.2f\n", n, n * n, divided,
               (double)counted / n / n);
    }
    return 0;
}
