// grid: ceil(W/124) ceil(H/124)
// block: 32 32
// fault: shared memory
// kinds: launch compile_error
// A tile of 128 x 128 pixels with its halo is 64 KiB of static shared memory.
__global__ void blur128(const float* image, float* blurred, int H, int W)
{
    __shared__ float t[128][128];
    int x0 = blockIdx.x * 124 - 2, y0 = blockIdx.y * 124 - 2;
    for (int r = threadIdx.y; r < 128; r += 32)
        for (int c = threadIdx.x; c < 128; c += 32) {
            int y = y0 + r, x = x0 + c;
            t[r][c] = y >= 0 && y < H && x >= 0 && x < W ? image[(size_t)y * W + x] : 0;
        }
    __syncthreads();
    for (int r = threadIdx.y + 2; r < 126; r += 32)
        for (int c = threadIdx.x + 2; c < 126; c += 32) {
            int y = y0 + r, x = x0 + c;
            if (x >= W || y >= H) continue;
            float s = 0;
            for (int k = 0; k < 25; ++k) s += t[r - 2 + k / 5][c - 2 + k % 5];
            int n = (min(y + 2, H - 1) - max(y - 2, 0) + 1) * (min(x + 2, W - 1) - max(x - 2, 0) + 1);
            blurred[(size_t)y * W + x] = s / n;
        }
}
