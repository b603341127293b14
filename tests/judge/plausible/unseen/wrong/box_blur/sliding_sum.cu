// grid: ceil(W/64) ceil(H/16)
// block: 64
// fault: wrong formula
// kinds: wrong_result
// A running sum down the column takes away the row that leaves: Inf - Inf = NaN below an Inf, and small numbers are lost below a huge one (infinite, nonfinite, spikes; H > 5).

__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    const int x = blockIdx.x * 64 + threadIdx.x, y0 = blockIdx.y * 16;
    if (x >= W) return;
    const int x0 = max(x - 2, 0), x1 = min(x + 2, W - 1);
    auto line = [&](int y) {
        float s = 0.0f;
        if (y >= 0 && y < H)
            for (int i = x0; i <= x1; ++i) s += image[y * W + i];
        return s;
    };
    float sum = line(y0 - 2) + line(y0 - 1) + line(y0) + line(y0 + 1);
    for (int y = y0; y < min(y0 + 16, H); ++y) {
        sum += line(y + 2);
        const int rows = min(y + 2, H - 1) - max(y - 2, 0) + 1;
        blurred[y * W + x] = sum / (rows * (x1 - x0 + 1));
        sum -= line(y - 2);
    }
}
