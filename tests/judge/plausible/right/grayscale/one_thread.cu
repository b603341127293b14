// grid: 1
// block: 1
// One thread for the whole image.
__global__ void gray(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    for (long long i = 0; i < (long long)H * W; ++i)
        gray[i] = (rgb[3 * i] * 77 + rgb[3 * i + 1] * 150 + rgb[3 * i + 2] * 29 + 128) >> 8;
}
