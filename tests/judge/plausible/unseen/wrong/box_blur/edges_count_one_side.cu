// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: small size
// kinds: wrong_result
// How many pixels a window has is worked out for one edge at a time: an image of fewer than four rows or columns has both.

__device__ int extent(int at, int size)
{
    if (at < 2) return 3 + at;
    if (at >= size - 2) return 2 + size - at;
    return 5;
}

__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    float sum = 0.0f;
    for (int v = max(0, y - 2); v <= min(H - 1, y + 2); ++v)
        for (int u = max(0, x - 2); u <= min(W - 1, x + 2); ++u) sum += image[(size_t)v * W + u];
    blurred[(size_t)y * W + x] = sum / (extent(x, W) * extent(y, H));
}
