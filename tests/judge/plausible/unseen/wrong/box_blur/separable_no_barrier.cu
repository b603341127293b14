// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: race
// kinds: race
// The rows' sums go through shared memory and are added down the column with no barrier between the passes (H >= 2: a thread reads sums of other warps).

__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    __shared__ float sums[12][32];
    const int x = blockIdx.x * 32 + threadIdx.x, y0 = blockIdx.y * 8;
    for (int k = threadIdx.y; k < 12; k += 8) {
        const int y = y0 + k - 2;
        float s = 0.0f;
        if (y >= 0 && y < H && x < W)
            for (int i = max(x - 2, 0); i <= min(x + 2, W - 1); ++i) s += image[y * W + i];
        sums[k][threadIdx.x] = s;
    }
    const int y = y0 + threadIdx.y;
    if (x >= W || y >= H) return;
    float sum = 0.0f;
    for (int j = 0; j < 5; ++j) sum += sums[threadIdx.y + j][threadIdx.x];
    const int rows = min(y + 2, H - 1) - max(y - 2, 0) + 1, columns = min(x + 2, W - 1) - max(x - 2, 0) + 1;
    blurred[y * W + x] = sum / (rows * columns);
}
