// entry: slanted
// block: 32 8
// grid: ceil(W/32) ceil(H/8)

// Each result from a point three columns on for each row down: a slope of
// one in three, as in a picture that is turned by 18 degrees.
extern "C" __global__ void slanted(
    const float* image, float* turned, int H, int W)
{
    const int x = blockIdx.x * 32 + threadIdx.x;
    const int y = blockIdx.y * 8 + threadIdx.y;
    const int row = min(y + x / 3, H - 1);
    turned[y * W + x] = image[row * W + x];
}
