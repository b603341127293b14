// grid: ceil(W/8) ceil(H/8) 1
// block: 8 2 4
// The window is a template parameter; blocks are 8 x 2 x 4, four layers of two rows.
struct Window { int first, last; };
template <int RADIUS> __device__ Window clipped(int p, int size)
{
    return {p > RADIUS ? p - RADIUS : 0, p + RADIUS < size ? p + RADIUS : size - 1};
}
template <int RADIUS> __device__ float mean(const float* image, int y, int x, int H, int W)
{
    const Window v = clipped<RADIUS>(y, H), h = clipped<RADIUS>(x, W);
    float sum = 0;
    for (int r = v.first; r <= v.last; ++r)
        for (int c = h.first; c <= h.last; ++c) sum += __ldg(image + (size_t)r * W + c);
    return sum / float((v.last - v.first + 1) * (h.last - h.first + 1));
}
extern "C" __global__ void blur_template(const float* image, float* blurred, int H, int W)
{
    const int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.z * 2 + threadIdx.y;
    if (x < W && y < H) blurred[(size_t)y * W + x] = mean<2>(image, y, x, H, W);
}
