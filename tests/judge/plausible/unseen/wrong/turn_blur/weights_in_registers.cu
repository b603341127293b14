// The weights lie in a small shared array of 16, enough for R = 7.
// Wrong for R = 8: 17 weights.
// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: weights in registers
// kinds: out_of_bounds
__device__ float pixel(const float* image, int r, int c, int H, int W)
{
    return r >= 0 && r < H && c >= 0 && c < W ? image[(size_t)r * W + c] : 0.0f;
}
__global__ void turn_blur(const float* image, const float* weights, float* turned, int H, int W, int R)
{
    __shared__ float w[16];
    const int t = threadIdx.y * 32 + threadIdx.x;
    if (t < 2 * R + 1) w[t] = weights[t];
    __syncthreads();
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= W || y >= H) return;
    float sum = 0.0f;
    for (int k = -R; k <= R; ++k) {
        const int across = 16 * (W / 2) + 15 * (x + k - W / 2) - 5 * (y - H / 2);
        const int down = 16 * (H / 2) + 5 * (x + k - W / 2) + 15 * (y - H / 2);
        const int c = across >> 4, r = down >> 4;
        const float f = (across & 15) / 16.0f, g = (down & 15) / 16.0f;
        const float up = (1 - f) * pixel(image, r, c, H, W) + f * pixel(image, r, c + 1, H, W);
        const float lo = (1 - f) * pixel(image, r + 1, c, H, W) + f * pixel(image, r + 1, c + 1, H, W);
        sum += w[k + R] * ((1 - g) * up + g * lo);
    }
    turned[(size_t)y * W + x] = sum;
}
