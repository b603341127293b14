// grid: ceil(H*W/256)
// block: 256
// fault: overflow
// kinds: wrong_result
// __dp4a on signed bytes: levels above 127 count as negative ones.
__global__ void gray_dp4a(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= H * W) return;
    int pixel = rgb[3 * i] | rgb[3 * i + 1] << 8 | rgb[3 * i + 2] << 16;
    int halves = 38 | 75 << 8 | 14 << 16, rest = 39 | 75 << 8 | 15 << 16;  // 150 does not fit a signed byte
    int sum = __dp4a(pixel, halves, 128);
    sum = __dp4a(pixel, rest, sum);
    gray[i] = max(sum >> 8, 0);
}
