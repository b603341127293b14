// grid: SMS*4
// block: 64 2
//
// A grid-stride loop over all pixels, the window as a template, 64 bit places.

template <int RADIUS>
struct Window {
    const float* image;
    int H, W;
    __device__ float mean(int y, int x) const
    {
        float sum = 0.0f;
        int count = 0;
        for (int v = y - RADIUS; v <= y + RADIUS; ++v) {
            if (v < 0 || v >= H) continue;
            for (int u = x - RADIUS; u <= x + RADIUS; ++u) {
                if (u < 0 || u >= W) continue;
                sum += __ldg(image + (long long)v * W + u);
                ++count;
            }
        }
        return sum / count;
    }
};

__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    const Window<2> window{image, H, W};
    const long long pixels = (long long)H * W, step = (long long)gridDim.x * 128;
    for (long long i = blockIdx.x * 128LL + threadIdx.y * 64 + threadIdx.x; i < pixels; i += step)
        blurred[i] = window.mean(i / W, i % W);
}
