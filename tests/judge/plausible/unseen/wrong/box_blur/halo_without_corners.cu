// grid: ceil(W/16) ceil(H/16)
// block: 16 16
// fault: tile halo
// kinds: wrong_result
// The shared tile's halo is loaded left, right, above and below by the border threads; the corners are not.
__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    __shared__ float tile[20][20];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    auto at = [&](int yy, int xx) { return yy >= 0 && yy < H && xx >= 0 && xx < W ? image[(size_t)yy * W + xx] : 0.0f; };
    if (tx < 4 && ty < 4) tile[(ty & 2) ? ty + 16 : ty][(tx & 2) ? tx + 16 : tx] = 0.0f;
    tile[ty + 2][tx + 2] = at(y, x);
    if (tx < 2) tile[ty + 2][tx] = at(y, x - 2);
    if (tx >= 14) tile[ty + 2][tx + 4] = at(y, x + 2);
    if (ty < 2) tile[ty][tx + 2] = at(y - 2, x);
    if (ty >= 14) tile[ty + 4][tx + 2] = at(y + 2, x);
    __syncthreads();
    if (x >= W || y >= H) return;
    float sum = 0;
    for (int j = 0; j < 5; ++j)
        for (int i = 0; i < 5; ++i) sum += tile[ty + j][tx + i];
    const int across = min(x + 2, W - 1) - max(x - 2, 0) + 1, down = min(y + 2, H - 1) - max(y - 2, 0) + 1;
    blurred[(size_t)y * W + x] = sum / (across * down);
}
