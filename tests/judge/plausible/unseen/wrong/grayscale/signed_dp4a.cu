// grid: ceil(H*W/256)
// block: 256
// fault: signed dot product
// kinds: wrong_result
// 150 does not fit a signed byte, and channels above 127 are negative to __dp4a(int, int, int).
__global__ void grayscale(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= H * W) return;
    int pixel = rgb[3 * i] | rgb[3 * i + 1] << 8 | rgb[3 * i + 2] << 16;
    gray[i] = __dp4a(pixel, 77 | 150 << 8 | 29 << 16, 128) >> 8;
}
