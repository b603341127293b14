// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: divergent barrier
// kinds: barrier_divergence deadlock uninitialised_read
// Columns inside the image wait once more than the others do, in the middle: a W not divisible by 32 divides a warp.
__global__ void blur_tile(const float* image, float* blurred, int H, int W)
{
    __shared__ float t[12][32];
    int x = blockIdx.x * 32 + threadIdx.x, y0 = blockIdx.y * 8;
    if (x < W) {
        for (int k = threadIdx.y; k < 12; k += 8) {
            int y = y0 + k - 2;
            float s = 0;
            if (y >= 0 && y < H)
                for (int c = max(x - 2, 0); c <= min(x + 2, W - 1); ++c) s += image[(size_t)y * W + c];
            t[k][threadIdx.x] = s;
        }
        __syncthreads();
        int y = y0 + threadIdx.y;
        float s = 0;
        for (int k = 0; k < 5; ++k) s += t[threadIdx.y + k][threadIdx.x];
        int n = (min(x + 2, W - 1) - max(x - 2, 0) + 1) * (min(y + 2, H - 1) - max(y - 2, 0) + 1);
        if (y < H) blurred[(size_t)y * W + x] = s / n;
    }
    __syncthreads();
}
