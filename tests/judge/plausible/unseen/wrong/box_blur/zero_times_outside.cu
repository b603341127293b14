// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: values
// kinds: wrong_result
// What lies outside is taken from the opposite side with weight 0: an Inf or NaN there makes this edge NaN.

__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= W || y >= H) return;
    float sum = 0.0f, weights = 0.0f;
    for (int dy = -2; dy <= 2; ++dy)
        for (int dx = -2; dx <= 2; ++dx) {
            const int u = (x + dx + W) % W, v = (y + dy + 2 * H) % H;
            const float w = (x + dx == u && y + dy == v) ? 1.0f : 0.0f;
            if (W < 3 && w == 0.0f) continue;
            sum += w * image[(size_t)v * W + u];
            weights += w;
        }
    blurred[(size_t)y * W + x] = sum / weights;
}
