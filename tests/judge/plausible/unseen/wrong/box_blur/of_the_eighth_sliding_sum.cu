// grid: ceil(W/128)
// block: 128
// fault: numerics: running sums, NaN
// kinds: wrong_result
// Columns are summed by sliding: add the row that comes, take away the one that goes; Inf - Inf stays NaN, and huge
// numbers leave their rounding behind.
__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    const int x = blockIdx.x * 128 + threadIdx.x;
    if (x >= W) return;
    const int x0 = max(x - 2, 0), x1 = min(x + 2, W - 1);
    float sum = 0;
    int rows = 0;
    for (int y = 0; y < min(2, H); ++y, ++rows)
        for (int c = x0; c <= x1; ++c) sum += image[(size_t)y * W + c];
    for (int y = 0; y < H; ++y) {
        if (y + 2 < H) {
            for (int c = x0; c <= x1; ++c) sum += image[(size_t)(y + 2) * W + c];
            ++rows;
        }
        if (y - 3 >= 0) {
            for (int c = x0; c <= x1; ++c) sum -= image[(size_t)(y - 3) * W + c];
            --rows;
        }
        blurred[(size_t)y * W + x] = sum / (float)(rows * (x1 - x0 + 1));
    }
}
