// grid: ceil(W/256) H
// block: 128
// fault: alignment
// kinds: misaligned
// Pairs are read as float2 where W is even and x too: an image that begins at an odd float is misaligned.
__global__ void blur2(const float* image, float* blurred, int H, int W)
{
    int x = 2 * (blockIdx.x * 128 + threadIdx.x), y = blockIdx.y;
    if (x >= W) return;
    float a = 0, b = 0;
    int rows = 0;
    for (int r = max(y - 2, 0); r <= min(y + 2, H - 1); ++r, ++rows) {
        const float* p = image + (size_t)r * W;
        float c[6] = {};
        for (int k = 0; k < 6; k += 2) {
            int at = x - 2 + k;
            if (at < 0 || at >= W) continue;
            if (W % 2 == 0) {
                float2 v = *(const float2*)(p + at);
                c[k] = v.x; c[k + 1] = v.y;
            } else {
                c[k] = p[at];
                if (at + 1 < W) c[k + 1] = p[at + 1];
            }
        }
        a += c[0] + c[1] + c[2] + c[3] + c[4];
        b += c[1] + c[2] + c[3] + c[4] + c[5];
    }
    auto width = [&](int q) { return min(q + 2, W - 1) - max(q - 2, 0) + 1; };
    blurred[(size_t)y * W + x] = a / (rows * width(x));
    if (x + 1 < W) blurred[(size_t)y * W + x + 1] = b / (rows * width(x + 1));
}
