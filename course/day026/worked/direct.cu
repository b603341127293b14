// A thread for each pixel, its window read from global memory: 25 pixels and 25 weights.
//
// entry: direct
// block: 32 8
// grid: ceil(W/32) ceil(H/8)

constexpr int RADIUS = 2;  // pixels to each side: a window of 5 by 5
constexpr int TAPS = 2 * RADIUS + 1;

extern "C" __global__ void direct(const float* image, const float* weights, float* out, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;

    float sum = 0.0f;
    for (int r = 0; r < TAPS; ++r) {
        for (int c = 0; c < TAPS; ++c) {
            const int y = row + r - RADIUS, x = column + c - RADIUS;
            const bool inside = y >= 0 && y < H && x >= 0 && x < W;
            if (inside) sum += weights[r * TAPS + c] * image[y * W + x];
        }
    }
    out[row * W + column] = sum;
}
