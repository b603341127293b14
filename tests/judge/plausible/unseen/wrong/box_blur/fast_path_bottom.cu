// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: bounds
// kinds: out_of_bounds
// The path without bounds checks is taken for y < H - 1 where H - 2 is meant: row H - 2 adds a row below the image (H >= 4 and W >= 5; out of bounds).

__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= W || y >= H) return;
    float sum = 0.0f;
    if (x >= 2 && x < W - 2 && y >= 2 && y < H - 1) {
        const float* p = image + (size_t)(y - 2) * W + x - 2;
        for (int j = 0; j < 5; ++j, p += W) sum += p[0] + p[1] + p[2] + p[3] + p[4];
        blurred[(size_t)y * W + x] = sum / 25.0f;
        return;
    }
    int count = 0;
    for (int j = y - 2; j <= y + 2; ++j)
        for (int i = x - 2; i <= x + 2; ++i)
            if (i >= 0 && i < W && j >= 0 && j < H) {
                sum += image[(size_t)j * W + i];
                ++count;
            }
    blurred[(size_t)y * W + x] = sum / count;
}
