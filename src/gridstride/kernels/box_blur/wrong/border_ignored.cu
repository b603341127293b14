// Border ignored: the window of the first and last pixels reaches outside the image, and nothing checks it.
//
// entry: blur_border_ignored
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: out_of_bounds

extern "C" __global__ void blur_border_ignored(const float* image, float* blurred, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;
    float sum = 0.0f;
    for (int r = row - 2; r <= row + 2; ++r) {
        for (int c = column - 2; c <= column + 2; ++c) sum += image[r * W + c];  // <- here
    }
    blurred[row * W + column] = sum / 25;
}
