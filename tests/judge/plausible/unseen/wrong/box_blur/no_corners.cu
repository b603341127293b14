// grid: ceil(W/16) ceil(H/16)
// block: 16 16
// fault: uninitialised memory
// kinds: uninitialised_read
// The halo is loaded left, right, above and below, but not in the corners: 16 numbers of shared memory are read that nobody wrote (every image; wrong sums near a tile's corners).

__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    __shared__ float tile[20][20];
    const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    auto at = [&](int j, int i) { return i >= 0 && i < W && j >= 0 && j < H ? image[j * W + i] : 0.0f; };
    tile[ty + 2][tx + 2] = at(y, x);
    if (tx < 2) {
        tile[ty + 2][tx] = at(y, x - 2);
        tile[ty + 2][tx + 18] = at(y, x + 16);
    }
    if (ty < 2) {
        tile[ty][tx + 2] = at(y - 2, x);
        tile[ty + 18][tx + 2] = at(y + 16, x);
    }
    __syncthreads();
    if (x >= W || y >= H) return;
    float sum = 0.0f;
    for (int j = 0; j < 5; ++j)
        for (int i = 0; i < 5; ++i) sum += tile[ty + j][tx + i];
    const int rows = min(y + 2, H - 1) - max(y - 2, 0) + 1, columns = min(x + 2, W - 1) - max(x - 2, 0) + 1;
    blurred[y * W + x] = sum / (rows * columns);
}
