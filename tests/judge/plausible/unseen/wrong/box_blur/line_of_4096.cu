// grid: H
// block: 256
// fault: fixed cache
// kinds: out_of_bounds
// Column sums of a whole row are kept for 4,096 columns.

__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    __shared__ float column[4096];
    const int y = blockIdx.x, top = max(y - 2, 0), bottom = min(y + 2, H - 1);
    for (int x = threadIdx.x; x < W; x += 256) {
        float sum = 0.0f;
        for (int v = top; v <= bottom; ++v) sum += image[(size_t)v * W + x];
        column[x] = sum;
    }
    __syncthreads();
    for (int x = threadIdx.x; x < W; x += 256) {
        float sum = 0.0f;
        const int left = max(x - 2, 0), right = min(x + 2, W - 1);
        for (int u = left; u <= right; ++u) sum += column[u];
        blurred[(size_t)y * W + x] = sum / ((right - left + 1) * (bottom - top + 1));
    }
}
