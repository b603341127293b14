// No halo: the tile holds the block's own pixels only, so windows that reach into the next tile are cut off.
//
// entry: blur_no_halo
// block: 16 16
// grid: ceil(W/16) ceil(H/16)
// expect: wrong_result

extern "C" __global__ void blur_no_halo(const float* image, float* blurred, int H, int W)
{
    __shared__ float tile[16][16];
    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    const bool in_image = row < H && column < W;
    tile[y][x] = in_image ? image[row * W + column] : 0.0f;
    __syncthreads();
    if (!in_image) return;
    float sum = 0.0f;
    for (int r = max(y - 2, 0); r <= min(y + 2, 15); ++r) {
        for (int c = max(x - 2, 0); c <= min(x + 2, 15); ++c) sum += tile[r][c];
    }
    const int rows = min(row + 2, H - 1) - max(row - 2, 0) + 1;
    const int columns = min(column + 2, W - 1) - max(column - 2, 0) + 1;
    blurred[row * W + column] = sum / (rows * columns);
}
