// grid: ceil(H*W/128)
// block: 128
// fault: order of blocks
// kinds: race wrong_result out_of_bounds uninitialised_read
// Sums of rows of five go through a device array that the neighbours' blocks write at the same time. (And it has 2^17 places.)

__device__ float row_sums[1 << 17];

__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    const int i = blockIdx.x * 128 + threadIdx.x, x = i % W, y = i / W;
    if (i >= H * W) return;
    const int left = max(x - 2, 0), right = min(x + 2, W - 1), top = max(y - 2, 0), bottom = min(y + 2, H - 1);
    for (int v = y; v <= bottom; ++v) {
        float sum = 0.0f;
        for (int u = left; u <= right; ++u) sum += image[v * W + u];
        row_sums[v * W + x] = sum;
    }
    float all = 0.0f;
    for (int v = top; v <= bottom; ++v) all += row_sums[v * W + x];
    blurred[i] = all / ((right - left + 1) * (bottom - top + 1));
}
