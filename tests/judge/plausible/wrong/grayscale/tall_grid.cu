// grid: 1 ceil(H*W/1024)
// block: 256
// fault: launch
// kinds: launch
// 16384 x 16384 pixels in blocks of 1,024 along y are 262,144 blocks: y ends at 65,535.
__global__ void gray(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    size_t n = (size_t)H * W;
    for (int k = 0; k < 4; ++k) {
        size_t i = blockIdx.y * 1024ull + k * 256 + threadIdx.x;
        if (i < n) gray[i] = (rgb[3 * i] * 77 + rgb[3 * i + 1] * 150 + rgb[3 * i + 2] * 29 + 128) >> 8;
    }
}
