// grid: ceil(H/64)
// block: 64
// fault: near formula
// kinds: wrong_result
// A row's window is moved along by adding a column and taking one away: Inf - Inf is NaN for all that follows, and a spike
// leaves its rounding behind.

__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    const int row = blockIdx.x * 64 + threadIdx.x;
    if (row >= H) return;
    const int top = max(row - 2, 0), bottom = min(row + 2, H - 1);
    auto column = [&](int c) {
        float sum = 0.0f;
        for (int r = top; r <= bottom; ++r) sum += image[(size_t)r * W + c];
        return sum;
    };
    float sum = 0.0f;
    for (int c = 0; c < min(2, W); ++c) sum += column(c);
    for (int c = 0; c < W; ++c) {
        if (c + 2 < W) sum += column(c + 2);
        if (c - 3 >= 0) sum -= column(c - 3);
        blurred[(size_t)row * W + c] = sum / ((bottom - top + 1) * (min(c + 2, W - 1) - max(c - 2, 0) + 1));
    }
}
