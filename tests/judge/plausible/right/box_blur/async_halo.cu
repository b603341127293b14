// grid: ceil(W/32) ceil(H/16)
// block: 32 16
// The tile with its halo comes by cp.async where there is a pixel, and is set to 0 elsewhere.
#include <cuda_pipeline.h>
__global__ void blur_async(const float* image, float* blurred, int H, int W)
{
    __shared__ float t[20][36];
    const int x0 = blockIdx.x * 32 - 2, y0 = blockIdx.y * 16 - 2;
    for (int i = threadIdx.y * 32 + threadIdx.x; i < 20 * 36; i += 512) {
        const int y = y0 + i / 36, x = x0 + i % 36;
        if (y >= 0 && y < H && x >= 0 && x < W)
            __pipeline_memcpy_async(&t[i / 36][i % 36], image + (size_t)y * W + x, 4);
        else
            t[i / 36][i % 36] = 0.0f;
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    const int y = y0 + 2 + threadIdx.y, x = x0 + 2 + threadIdx.x;
    if (y >= H || x >= W) return;
    float s = 0;
    for (int r = 0; r < 5; ++r)
        for (int c = 0; c < 5; ++c) s += t[threadIdx.y + r][threadIdx.x + c];
    blurred[(size_t)y * W + x] = s / ((min(y + 2, H - 1) - max(y - 2, 0) + 1) * (min(x + 2, W - 1) - max(x - 2, 0) + 1));
}
