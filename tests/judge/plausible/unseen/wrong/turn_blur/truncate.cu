// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: cast instead of floor
// kinds: wrong_result
// Between -1 and 0 a cast gives 0: the pixel's nearness is negative there, and the edge wrong.
__global__ void turn_blur(const float* image, const float* weights, float* turned, int H, int W, int R)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= W || y >= H) return;
    auto at = [&](int r, int c) { return r >= 0 && r < H && c >= 0 && c < W ? image[(size_t)r * W + c] : 0.0f; };
    float sum = 0;
    for (int k = -R; k <= R; ++k) {
        int u = x + k - W / 2, v = y - H / 2;
        float across = W / 2 + (15 * u - 5 * v) / 16.0f, down = H / 2 + (5 * u + 15 * v) / 16.0f;
        int c = (int)across, r = (int)down;
        float fx = across - c, fy = down - r;
        float top = at(r, c) * (1 - fx) + at(r, c + 1) * fx, low = at(r + 1, c) * (1 - fx) + at(r + 1, c + 1) * fx;
        sum += weights[k + R] * (top * (1 - fy) + low * fy);
    }
    turned[(size_t)y * W + x] = sum;
}
