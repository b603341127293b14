// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: precision
// kinds: wrong_result
// The sum of a row of five is kept as two halves: 11 bits of 24, and Inf above 65,504. Small whole numbers come out right.

#include <cuda_fp16.h>

__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= W || y >= H) return;
    float all = 0.0f;
    int count = 0;
    for (int v = max(y - 2, 0); v <= min(y + 2, H - 1); ++v) {
        __half sum = __float2half(0.0f);
        for (int u = max(x - 2, 0); u <= min(x + 2, W - 1); ++u) sum = __hadd(sum, __float2half(image[(size_t)v * W + u])), ++count;
        all += __half2float(sum);
    }
    blurred[(size_t)y * W + x] = all / count;
}
