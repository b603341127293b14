// grid: 4 H
// block: 1024
// fault: fixed count
// kinds: wrong_result
// Four blocks of 1,024 threads per row: columns from 4,096 on are never written.
__global__ void __launch_bounds__(1024) blur(const float* image, float* blurred, int H, int W)
{
    int x = blockIdx.x * 1024 + threadIdx.x, y = blockIdx.y;
    if (x >= W) return;
    float s = 0;
    int n = 0;
    for (int r = y - 2; r <= y + 2; ++r)
        for (int c = x - 2; c <= x + 2; ++c)
            if (r >= 0 && r < H && c >= 0 && c < W) s += image[(size_t)r * W + c], ++n;
    blurred[(size_t)y * W + x] = s / n;
}
