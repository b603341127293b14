// grid: ceil(W/16) ceil(H/16)
// block: 16 16
// fault: small sizes
// kinds: wrong_result
// The count takes either border into account, not both: wrong in images less than 4 wide or high.
__device__ int extent(int p, int size)
{
    if (p < 2) return p + 3;
    if (p > size - 3) return size - p + 2;
    return 5;
}
__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= W || y >= H) return;
    float sum = 0;
    for (int dy = -2; dy <= 2; ++dy)
        for (int dx = -2; dx <= 2; ++dx)
            if (x + dx >= 0 && x + dx < W && y + dy >= 0 && y + dy < H) sum += image[(y + dy) * W + x + dx];
    blurred[y * W + x] = sum / (extent(x, W) * extent(y, H));
}
