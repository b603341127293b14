// grid: ceil(W/4) H P
// block: 32 4
// The lanes of a warp share the taps of one pixel and add up by shuffle; sums in double.
__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    const int taps = 2 * R + 1, x = blockIdx.x * 4 + threadIdx.y, y = blockIdx.y;
    if (x >= W) return;
    const float* plane = image + (size_t)blockIdx.z * H * W;
    double sum = 0;
    for (int i = threadIdx.x; i < taps * taps; i += 32) {
        const int v = y + i / taps - R, u = x + i % taps - R;
        if (v >= 0 && v < H && u >= 0 && u < W) sum += (double)weights[i] * plane[(size_t)v * W + u];
    }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (threadIdx.x == 0) filtered[((size_t)blockIdx.z * H + y) * W + x] = (float)sum;
}
