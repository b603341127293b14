// Black outside: beyond the picture is 0, which weighs as much as it is like the pixel.
//
// entry: bilateral_black_outside
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: wrong_result

constexpr int RADIUS = 2;

extern "C" __global__ void
bilateral_black_outside(const float* image, float* smooth, int H, int W, float near, float alike)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;

    const float own = image[(size_t)row * W + column];
    float sum = 0.0f, weights = 0.0f;
    for (int dy = -RADIUS; dy <= RADIUS; ++dy) {
        for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
            const int y = row + dy, x = column + dx;
            const float other = y >= 0 && y < H && x >= 0 && x < W ? image[(size_t)y * W + x] : 0.0f;
            const float apart = other - own;
            const float weight = expf(-near * (dx * dx + dy * dy)) * expf(-alike * apart * apart);
            sum += weight * other;
            weights += weight;
        }
    }
    smooth[(size_t)row * W + column] = sum / weights;
}
