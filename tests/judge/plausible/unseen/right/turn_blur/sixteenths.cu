// right: coordinates as whole sixteenths: shift and mask, one-dimensional grid
// grid: ceil(H*W/192)
// block: 192
__global__ void turn_blur(const float* image, const float* weights, float* turned, int H, int W, int R)
{
    const long long p = (long long)blockIdx.x * 192 + threadIdx.x;
    if (p >= (long long)H * W) return;
    const int y = (int)(p / W), x = (int)(p % W), cx = W / 2, cy = H / 2;
    float sum = 0;
    for (int k = -R; k <= R; ++k) {
        const int across = 16 * cx + 15 * (x + k - cx) - 5 * (y - cy), down = 16 * cy + 5 * (x + k - cx) + 15 * (y - cy);
        const int x0 = across >> 4, y0 = down >> 4;
        const float fx = (across & 15) * 0.0625f, fy = (down & 15) * 0.0625f;
        float v = 0;
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            const int xx = x0 + (c & 1), yy = y0 + (c >> 1);
            const bool inside = xx >= 0 && xx < W && yy >= 0 && yy < H;
            const float pixel = inside ? image[(size_t)yy * W + xx] : 0.0f;
            v += (c & 1 ? fx : 1 - fx) * (c >> 1 ? fy : 1 - fy) * pixel;
        }
        sum += weights[k + R] * v;
    }
    turned[p] = sum;
}
