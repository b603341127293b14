// grid: ceil(W/16) ceil(H/16)
// block: 16 16
// fault: index type
// kinds: wrong_result race uninitialised_read
// A row's beginning is y W in an unsigned short: wrong where the image has more than 65,536 pixels.

__device__ unsigned short offset_of(int y, int W) { return y * W; }

__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= W || y >= H) return;
    float sum = 0.0f;
    int count = 0;
    for (int v = y - 2; v <= y + 2; ++v)
        for (int u = x - 2; u <= x + 2; ++u)
            if (v >= 0 && v < H && u >= 0 && u < W) sum += image[offset_of(v, W) + u], ++count;
    blurred[offset_of(y, W) + x] = sum / count;
}
