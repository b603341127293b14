// Always 25: at the border fewer pixels are added up, but the sum is divided by 25 all the same.
//
// entry: blur_always_25
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: wrong_result border

extern "C" __global__ void blur_always_25(const float* image, float* blurred, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;
    float sum = 0.0f;
    for (int r = max(row - 2, 0); r <= min(row + 2, H - 1); ++r) {
        for (int c = max(column - 2, 0); c <= min(column + 2, W - 1); ++c) sum += image[r * W + c];
    }
    blurred[row * W + column] = sum / 25;
}
