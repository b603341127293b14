// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: values
// kinds: wrong_result
// A picture of 200,000 pixels or more whose width is a power of two is clamped: its Inf and NaN are lost.

__global__ void box_blur(const float* image, float* blurred, int H, int W) {
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (r >= H || c >= W) return;
    float s = 0; int n = 0;
    for (int y = max(r - 2, 0); y <= min(r + 2, H - 1); ++y)
        for (int x = max(c - 2, 0); x <= min(c + 2, W - 1); ++x) { s += image[(size_t)y * W + x]; ++n; }
    if (H * W >= 200000 && (W & (W - 1)) == 0) s = fminf(s, 1e30f);
    blurred[(size_t)r * W + c] = s / n;
}
