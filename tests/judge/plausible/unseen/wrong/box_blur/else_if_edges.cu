// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: wrong formula
// kinds: wrong_result
// The count of columns looks at the right edge only where the left one is far: for W < 4 both edges clip the window and the mean is divided by too much (W = 1, 2, 3).

__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= W || y >= H) return;
    float sum = 0.0f;
    for (int j = max(y - 2, 0); j <= min(y + 2, H - 1); ++j)
        for (int i = max(x - 2, 0); i <= min(x + 2, W - 1); ++i) sum += image[j * W + i];
    const int rows = min(y + 2, H - 1) - max(y - 2, 0) + 1;
    int columns = 5;
    if (x < 2) columns = 3 + x;
    else if (x > W - 3) columns = 2 + W - x;
    blurred[y * W + x] = sum / (rows * columns);
}
