// grid: ceil(W/16) ceil(H/16)
// block: 16 16
// fault: uninitialised shared
// kinds: uninitialised_read wrong_result
// The tile's middle, its left and right and its upper and lower edge are loaded; the four corners are not.
__global__ void blur_halo(const float* image, float* blurred, int H, int W)
{
    __shared__ float t[20][20];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    auto at = [&](int r, int c) { return r >= 0 && r < H && c >= 0 && c < W ? image[(size_t)r * W + c] : 0.0f; };
    t[ty + 2][tx + 2] = at(y, x);
    if (tx < 2) t[ty + 2][tx] = at(y, x - 2);
    if (tx >= 14) t[ty + 2][tx + 4] = at(y, x + 2);
    if (ty < 2) t[ty][tx + 2] = at(y - 2, x);
    if (ty >= 14) t[ty + 4][tx + 2] = at(y + 2, x);
    __syncthreads();
    if (x >= W || y >= H) return;
    float s = 0;
    int n = 0;
    for (int dy = -2; dy <= 2; ++dy)
        for (int dx = -2; dx <= 2; ++dx)
            if (y + dy >= 0 && y + dy < H && x + dx >= 0 && x + dx < W) s += t[ty + 2 + dy][tx + 2 + dx], ++n;
    blurred[(size_t)y * W + x] = s / n;
}
