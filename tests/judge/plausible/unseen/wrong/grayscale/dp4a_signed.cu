// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: integer types
// kinds: wrong_result
// __dp4a on signed bytes: the weight 150 is -106 there, and colours above 127 are negative.
__global__ void grayscale(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= W || y >= H) return;
    const int p = y * W + x;
    const int pixel = rgb[3 * p] | rgb[3 * p + 1] << 8 | rgb[3 * p + 2] << 16;
    const int weights = 77 | 150 << 8 | 29 << 16;
    gray[p] = (unsigned char)(__dp4a(pixel, weights, 128) >> 8);
}
