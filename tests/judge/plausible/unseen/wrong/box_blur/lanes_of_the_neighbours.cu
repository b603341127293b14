// grid: ceil(W/28) ceil(H/4)
// block: 32 4
// fault: mask of a shuffle
// kinds: member_mask inactive_lane deadlock wrong_result
// Each lane sums a column, the window comes by shuffles from two lanes to each side, within the bounds check: lanes that hold
// no column of the image are asked for theirs with a mask that names them.

__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    const int lane = threadIdx.x, x = blockIdx.x * 28 + lane - 2, y = blockIdx.y * 4 + threadIdx.y;
    const int top = max(y - 2, 0), bottom = min(y + 2, H - 1);
    if (x >= 0 && x < W && y < H) {
        float column = 0.0f;
        for (int v = top; v <= bottom; ++v) column += image[(size_t)v * W + x];
        float sum = 0.0f;
        int wide = 0;
        for (int d = -2; d <= 2; ++d) {
            const float other = __shfl_sync(~0u, column, (lane + d) & 31);
            if (x + d >= 0 && x + d < W) sum += other, ++wide;
        }
        if (lane >= 2 && lane < 30) blurred[(size_t)y * W + x] = sum / (wide * (bottom - top + 1));
    }
    __syncwarp();
}
