// 01 naive: one thread reads the 5x5 window of its pixel from global memory and averages it.
//
// Moves: nothing yet. 25 loads for one result; neighbours read almost the same 25 values again, from the caches if
//   all goes well.
// Mapping: thread (x, y) -> column = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y. At the border of the image the
//   mean is taken over the part of the window that lies inside.
//
// entry: blur_naive
// block: 32 8
// grid: ceil(W/32) ceil(H/8)

constexpr int RADIUS = 2;  // pixels to each side: a 5x5 window

extern "C" __global__ void blur_naive(const float* image, float* blurred, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;

    float sum = 0.0f;
    int count = 0;
    for (int r = row - RADIUS; r <= row + RADIUS; ++r) {
        for (int c = column - RADIUS; c <= column + RADIUS; ++c) {
            if (r < 0 || r >= H || c < 0 || c >= W) continue;
            sum += image[(size_t)r * W + c];
            ++count;
        }
    }
    blurred[(size_t)row * W + column] = sum / count;
}
