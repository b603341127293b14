// 01 naive: for each of the 25 pixels around its own a load, and a weight of two exponentials.
//
// Moves: nothing yet. 50 exponentials and 26 loads for a pixel.
// Mapping: thread (x, y) -> column = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y.
//
// entry: bilateral_naive
// block: 32 8
// grid: ceil(W/32) ceil(H/8)

constexpr int RADIUS = 2;

extern "C" __global__ void
bilateral_naive(const float* image, float* smooth, int H, int W, float near, float alike)
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
            const float weight = expf(-near * (dx * dx + dy * dy)) * expf(-alike * apart * apart);
            sum += weight * other;
            weights += weight;
        }
    }
    smooth[(size_t)row * W + column] = sum / weights;
}
