// grid: ceil(H*W/128)
// block: 128
// fault: index type
// kinds: wrong_result out_of_bounds race
// Columns are kept in an unsigned char: images wider than 256 are blurred around the wrong place.
__global__ void blur(const float* image, float* blurred, int H, int W)
{
    int p = blockIdx.x * 128 + threadIdx.x;
    if (p >= H * W) return;
    unsigned char x = p % W;
    int y = p / W, n = 0;
    float s = 0;
    for (int r = max(y - 2, 0); r <= min(y + 2, H - 1); ++r)
        for (int c = max(x - 2, 0); c <= min(x + 2, W - 1); ++c) s += image[r * W + c], n++;
    blurred[p] = s / n;
}
