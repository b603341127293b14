// grid: ceil(W/16) ceil(H/16)
// block: 16 16
// fault: non-square
// kinds: wrong_result out_of_bounds
// The right border is tested against H and the lower one against W: right for square images.
__global__ void blur(const float* image, float* blurred, int H, int W)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < W && y < H) {
        float sum = 0; int count = 0;
        for (int i = -2; i <= 2; i++)
            for (int j = -2; j <= 2; j++) {
                int r = y + i, c = x + j;
                if (r >= 0 && r < W && c >= 0 && c < H) { sum += image[r * W + c]; count++; }
            }
        blurred[y * W + x] = sum / count;
    }
}
