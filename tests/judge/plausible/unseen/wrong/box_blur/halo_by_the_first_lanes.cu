// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: uninitialised shared memory
// kinds: uninitialised_read wrong_result
// Threads beyond the image load nothing, not even zeros: the columns behind the image's right edge are read as they were.
// Wrong where W is no multiple of 32.

__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    __shared__ float tile[12][36];
    const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 32 + tx, y = blockIdx.y * 8 + ty;
    for (int r = ty; r < 12; r += 8) {
        const int v = blockIdx.y * 8 + r - 2;
        const bool inside = v >= 0 && v < H;
        if (x < W) {
            tile[r][tx + 2] = inside ? image[(size_t)v * W + x] : 0.0f;
            if (tx < 2) tile[r][tx] = inside && x >= 2 ? image[(size_t)v * W + x - 2] : 0.0f;
            if (tx >= 30) tile[r][tx + 4] = inside && x + 2 < W ? image[(size_t)v * W + x + 2] : 0.0f;
        }
    }
    __syncthreads();
    if (x >= W || y >= H) return;
    float sum = 0.0f;
    for (int r = 0; r < 5; ++r)
        for (int c = 0; c < 5; ++c) sum += tile[ty + r][tx + c];
    const int wide = min(x + 2, W - 1) - max(x - 2, 0) + 1, high = min(y + 2, H - 1) - max(y - 2, 0) + 1;
    blurred[(size_t)y * W + x] = sum / (wide * high);
}
