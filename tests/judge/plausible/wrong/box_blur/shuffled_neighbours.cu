// grid: ceil(W/28) ceil(H/4)
// block: 32 4
// fault: member mask
// kinds: member_mask wrong_result inactive_lane
// Neighbours come by shuffles of the whole warp, after the lanes right of the image have left.
__global__ void blur_shuffle(const float* image, float* blurred, int H, int W)
{
    const unsigned ALL = 0xffffffffu;
    int lane = threadIdx.x, x = blockIdx.x * 28 + lane - 2, y = blockIdx.y * 4 + threadIdx.y;
    if (x >= W + 2 || y >= H) return;
    float s = 0;
    for (int r = max(y - 2, 0); r <= min(y + 2, H - 1); ++r) s += x >= 0 && x < W ? image[(size_t)r * W + x] : 0;
    float m = s + __shfl_up_sync(ALL, s, 1) + __shfl_up_sync(ALL, s, 2) + __shfl_down_sync(ALL, s, 1) + __shfl_down_sync(ALL, s, 2);
    if (lane < 2 || lane > 29 || x >= W) return;
    int n = (min(y + 2, H - 1) - max(y - 2, 0) + 1) * (min(x + 2, W - 1) - max(x - 2, 0) + 1);
    blurred[(size_t)y * W + x] = m / n;
}
