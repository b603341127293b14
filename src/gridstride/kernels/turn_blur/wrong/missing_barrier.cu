// Missing barrier: weights are read that another thread may not have put there yet.
//
// entry: turn_blur_missing_barrier
// block: 256
// grid: ceil(W/32) ceil(H/8)
// shared: 4*(2*R+1)
// expect: race

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

extern "C" __global__ void turn_blur_missing_barrier(const float* image, const float* weights, float* turned,
                                                     int H, int W, int R)
{
    extern __shared__ float taps[];
    const int t = threadIdx.x;
    for (int k = t; k < 2 * R + 1; k += 256) taps[k] = weights[k];  // <- here

    const int row = blockIdx.y * 8 + t / 128 * 4 + t % 32 / 8, column = blockIdx.x * 32 + t / 32 % 4 * 8 + t % 8;
    if (row >= H || column >= W) return;
    float sum = 0.0f;
    for (int k = -R; k <= R; ++k) {
        const int across = 16 * (W / 2) + 15 * (column + k - W / 2) - 5 * (row - H / 2);
        const int down = 16 * (H / 2) + 5 * (column + k - W / 2) + 15 * (row - H / 2);
        sum += taps[k + R] * between(image, across, down, H, W);  // <- here
    }
    turned[(size_t)row * W + column] = sum;
}
