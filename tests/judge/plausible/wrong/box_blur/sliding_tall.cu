// grid: ceil(W/32) ceil(H/64)
// block: 32
// fault: values
// kinds: wrong_result
// Images above 20,000 rows use a sliding sum; what is NaN or Inf once stays in the column for good.

__global__ void box_blur(const float* image, float* blurred, int H, int W) {
    int x = blockIdx.x * 32 + threadIdx.x, y0 = blockIdx.y * 64;
    if (x >= W) return;
    int a = max(0, x - 2), b = min(W - 1, x + 2); double s = 0;
    for (int y = y0; y < min(H, y0 + 64); y++) {
        int t = max(0, y - 2), e = min(H - 1, y + 2);
        if (H <= 20000 || y == y0) { s = 0; for (int r = t; r <= e; r++) for (int c = a; c <= b; c++) s += image[(size_t)r * W + c]; }
        else {
            if (y + 2 < H) for (int c = a; c <= b; c++) s += image[(size_t)(y + 2) * W + c];
            if (y - 3 >= 0) for (int c = a; c <= b; c++) s -= image[(size_t)(y - 3) * W + c];
        }
        blurred[(size_t)y * W + x] = s / ((b - a + 1) * (e - t + 1));
    }
}
