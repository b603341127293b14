// Nearest: the pixel above and to the left of the point instead of the mean of four.
//
// entry: turn_blur_nearest
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: wrong_result

__device__ float pixel(const float* image, int row, int column, int H, int W)
{
    return row >= 0 && row < H && column >= 0 && column < W ? image[(size_t)row * W + column] : 0.0f;
}

// The picture at a point in sixteenths of a pixel. A shift goes down to the whole number below, also below 0.
__device__ float between(const float* image, int across, int down, int H, int W)
{
    const int column = across >> 4, row = down >> 4;
    const float right = 0.0f, low = 0.0f;
    const float upper = (1.0f - right) * pixel(image, row, column, H, W) + right * pixel(image, row, column + 1, H, W);
    const float lower =
        (1.0f - right) * pixel(image, row + 1, column, H, W) + right * pixel(image, row + 1, column + 1, H, W);
    return (1.0f - low) * upper + low * lower;
}

extern "C" __global__ void turn_blur_nearest(const float* image, const float* weights, float* turned,
                                             int H, int W, int R)
{
    const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (row >= H || column >= W) return;
    float sum = 0.0f;
    for (int k = -R; k <= R; ++k) {
        const int across = 16 * (W / 2) + 15 * (column + k - W / 2) - 5 * (row - H / 2);
        const int down = 16 * (H / 2) + 5 * (column + k - W / 2) + 15 * (row - H / 2);
        sum += weights[k + R] * between(image, across, down, H, W);
    }
    turned[(size_t)row * W + column] = sum;
}
