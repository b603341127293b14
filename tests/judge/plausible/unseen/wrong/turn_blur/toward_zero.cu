// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: rounding of coordinates
// kinds: wrong_result
// The pixel left of a point by a cast to int, which rounds towards zero: for points between -1 and 0 the pixel is 0
// and the fraction negative.
__global__ void turn_blur(const float* image, const float* weights, float* turned, int H, int W, int R)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= W || y >= H) return;
    const int cx = W / 2, cy = H / 2;
    float sum = 0;
    for (int k = -R; k <= R; ++k) {
        const float across = cx + (15 * (x + k - cx) - 5 * (y - cy)) / 16.0f;
        const float down = cy + (5 * (x + k - cx) + 15 * (y - cy)) / 16.0f;
        const int x0 = (int)across, y0 = (int)down;
        const float fx = across - x0, fy = down - y0;
        auto at = [&](int yy, int xx) { return yy >= 0 && yy < H && xx >= 0 && xx < W ? image[(size_t)yy * W + xx] : 0.0f; };
        const float top = (1 - fx) * at(y0, x0) + fx * at(y0, x0 + 1);
        const float bottom = (1 - fx) * at(y0 + 1, x0) + fx * at(y0 + 1, x0 + 1);
        sum += weights[k + R] * ((1 - fy) * top + fy * bottom);
    }
    turned[(size_t)y * W + x] = sum;
}
