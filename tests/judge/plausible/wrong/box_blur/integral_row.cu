// grid: H
// block: 32
// fault: precision
// kinds: wrong_result
// Running sums along a row and a difference of two of them: a large pixel's rounding spoils all behind it, infinity too.
__global__ void blur(const float* image, float* blurred, int H, int W)
{
    int y = blockIdx.x, top = max(y - 2, 0), bottom = min(y + 2, H - 1);
    if (threadIdx.x) return;
    float ahead = 0, behind = 0;
    auto column = [&](int x) {
        float s = 0;
        for (int r = top; r <= bottom; ++r) s += image[(size_t)r * W + x];
        return s;
    };
    int in = 0, out = 0;
    for (int x = 0; x < W; ++x) {
        while (in <= min(x + 2, W - 1)) ahead += column(in++);
        while (out < x - 2) behind += column(out++);
        blurred[(size_t)y * W + x] = (ahead - behind) / ((bottom - top + 1) * (in - out));
    }
}
