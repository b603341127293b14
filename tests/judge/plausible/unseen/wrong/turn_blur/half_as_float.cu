// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: misread statement
// kinds: wrong_result
// The middle is W * 0.5f and H * 0.5f, not whole numbers.
__global__ void turn_blur(const float* image, const float* weights, float* turned, int H, int W, int R)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= W || y >= H) return;
    const float cx = W * 0.5f, cy = H * 0.5f;
    float sum = 0;
    for (int k = -R; k <= R; ++k) {
        const float across = cx + (15.0f * (x + k - cx) - 5.0f * (y - cy)) / 16.0f;
        const float down = cy + (5.0f * (x + k - cx) + 15.0f * (y - cy)) / 16.0f;
        const int x0 = (int)floorf(across), y0 = (int)floorf(down);
        const float fx = across - x0, fy = down - y0;
        float v = 0;
        for (int j = 0; j < 2; ++j)
            for (int i = 0; i < 2; ++i)
                if (y0 + j >= 0 && y0 + j < H && x0 + i >= 0 && x0 + i < W)
                    v += (j ? fy : 1 - fy) * (i ? fx : 1 - fx) * image[(size_t)(y0 + j) * W + x0 + i];
        sum += weights[k + R] * v;
    }
    turned[(size_t)y * W + x] = sum;
}
