// fault: a one-pixel-wide image takes a running sum (in double): an Inf never leaves it, Inf - Inf = NaN (W = 1, Inf in the column)
// kinds: wrong_result
// grid: ceil(W/32) ceil(H/8)
// block: 32 8
__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (W == 1) {
        if (x || threadIdx.y) return;
        double s = 0;
        int last = min(H, y + 8);
        for (int v = max(y - 2, 0); v < min(y + 2, H); v++) s += image[v];
        for (int v = y; v < last; v++) {
            if (v + 2 < H) s += image[v + 2];
            if (v - 3 >= 0 && v > y) s -= image[v - 3];
            blurred[v] = (float)(s / (min(v + 2, H - 1) - max(v - 2, 0) + 1));
        }
        return;
    }
    if (x >= W || y >= H) return;
    float s = 0;
    int n = 0;
    for (int v = max(y - 2, 0); v <= min(y + 2, H - 1); v++)
        for (int u = max(x - 2, 0); u <= min(x + 2, W - 1); u++, n++) s += image[(size_t)v * W + u];
    blurred[(size_t)y * W + x] = s / n;
}
