// 02 compact warps: the 32 lanes of a warp have a piece of 8 by 4 results instead of a row.
//
// Moves: sectors of each load, to about three quarters: a compact piece stays compact when it is turned.
// Mapping: thread t of 256 -> lane t % 32 has column lane % 8 and row lane / 8 of its warp's piece; a block has 4 by 2
//   pieces, 32 columns and 8 rows.
//
// entry: turn_blur_compact_warps
// block: 256
// grid: ceil(W/32) ceil(H/8)

__device__ float pixel(const float* image, int row, int column, int H, int W)
{
    return row >= 0 && row < H && column >= 0 && column < W ? image[(size_t)row * W + column] : 0.0f;
}

// The picture at a point in sixteenths of a pixel. A shift goes down to the whole number below, also below 0.
__device__ float between(const float* image, int across, int down, int H, int W)
{
    const int column = across >> 4, row = down >> 4;
    const float right = (across & 15) / 16.0f, low = (down & 15) / 16.0f;
    const float upper = (1.0f - right) * pixel(image, row, column, H, W) + right * pixel(image, row, column + 1, H, W);
    const float lower =
        (1.0f - right) * pixel(image, row + 1, column, H, W) + right * pixel(image, row + 1, column + 1, H, W);
    return (1.0f - low) * upper + low * lower;
}

extern "C" __global__ void turn_blur_compact_warps(const float* image, const float* weights, float* turned,
                                                   int H, int W, int R)
{
    const int t = threadIdx.x;
    const int row = blockIdx.y * 8 + t / 128 * 4 + t % 32 / 8, column = blockIdx.x * 32 + t / 32 % 4 * 8 + t % 8;
    if (row >= H || column >= W) return;
    float sum = 0.0f;
    for (int k = -R; k <= R; ++k) {
        const int across = 16 * (W / 2) + 15 * (column + k - W / 2) - 5 * (row - H / 2);
        const int down = 16 * (H / 2) + 5 * (column + k - W / 2) + 15 * (row - H / 2);
        sum += weights[k + R] * between(image, across, down, H, W);
    }
    turned[(size_t)row * W + column] = sum;
}
