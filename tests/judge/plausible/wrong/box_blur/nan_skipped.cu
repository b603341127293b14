// grid: ceil(W/32) ceil(H/4)
// block: 32 4
// fault: NaN and infinity
// kinds: wrong_result
// Leaves NaN pixels out of the mean, as image programs like to: the statement has no such rule.
__global__ void blur_nan(const float* image, float* blurred, int H, int W)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    if (x >= W || y >= H) return;
    float s = 0, n = 0;
    for (int r = max(y - 2, 0); r <= min(y + 2, H - 1); ++r)
        for (int c = max(x - 2, 0); c <= min(x + 2, W - 1); ++c) {
            float v = image[(size_t)r * W + c];
            if (v == v) s += v, n += 1;
        }
    blurred[(size_t)y * W + x] = s / n;
}
