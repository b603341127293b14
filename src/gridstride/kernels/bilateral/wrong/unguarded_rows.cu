// Unguarded rows: the pixels above the first row and below the last are read where there are none.
//
// entry: bilateral_unguarded_rows
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: out_of_bounds

constexpr int RADIUS = 2;

extern "C" __global__ void
bilateral_unguarded_rows(const float* image, float* smooth, int H, int W, float near, float alike)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;

    const float own = image[(size_t)row * W + column];
    float sum = 0.0f, weights = 0.0f;
    for (int dy = -RADIUS; dy <= RADIUS; ++dy) {
        for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
            const int y = row + dy, x = min(max(column + dx, 0), W - 1);
            const float other = image[(long long)y * W + x];  // <- here
            const float apart = other - own;
            const float weight = expf(-near * (dx * dx + dy * dy)) * expf(-alike * apart * apart);
            sum += weight * other;
            weights += weight;
        }
    }
    smooth[(size_t)row * W + column] = sum / weights;
}
