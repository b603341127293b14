// No square: the weight falls with the difference, not with its square.
//
// entry: bilateral_no_square
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: wrong_result

constexpr int RADIUS = 2;

extern "C" __global__ void
bilateral_no_square(const float* image, float* smooth, int H, int W, float near, float alike)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;

    const float own = image[(size_t)row * W + column];
    float sum = 0.0f, weights = 0.0f;
    for (int dy = -RADIUS; dy <= RADIUS; ++dy) {
        for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
            const int y = min(max(row + dy, 0), H - 1), x = min(max(column + dx, 0), W - 1);
            const float other = image[(size_t)y * W + x];
            const float apart = other - own;
            const float weight = expf(-near * (dx * dx + dy * dy)) * expf(-alike * fabsf(apart));
            sum += weight * other;
            weights += weight;
        }
    }
    smooth[(size_t)row * W + column] = sum / weights;
}
