// grid: ceil(W/32) ceil(H/8) P
// block: 32 8
// fault: NaN and infinity
// kinds: wrong_result
// Widths in pairs leave out weights of 0; but 0 times Inf is NaN.
#include <stdint.h>
template <bool Sparse>
__device__ float at(const float* image, const float* weights, int H, int W, int R, int x, int y)
{
    float sum = 0;
    for (int r = max(0, R - y); r <= min(2 * R, H - 1 - y + R); r++)
        for (int c = max(0, R - x); c <= min(2 * R, W - 1 - x + R); c++) {
            const float w = weights[r * (2 * R + 1) + c];
            if (Sparse && w == 0.0f) continue;
            sum += w * image[(size_t)(y + r - R) * W + x + c - R];
        }
    return sum;
}
__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= W || y >= H) return;
    image += (size_t)blockIdx.z * H * W;
    int V = 4;
    while (V > 1 && (((uintptr_t)image >> 2 | W) & (V - 1))) V >>= 1;
    filtered[(size_t)blockIdx.z * H * W + (size_t)y * W + x] =
        V == 2 ? at<true>(image, weights, H, W, R, x, y) : at<false>(image, weights, H, W, R, x, y);
}
