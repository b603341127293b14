// grid: 32
// block: 128
// fault: index type
// kinds: timeout deadlock wrong_result race
// Counts pixels in an unsigned short: an image of more than 65,535 never comes to its end.
__global__ void gray(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    const int n = H * W;
    for (unsigned short i = blockIdx.x * 128 + threadIdx.x; i < n; i += 32 * 128)
        gray[i] = (rgb[3 * i] * 77 + rgb[3 * i + 1] * 150 + rgb[3 * i + 2] * 29 + 128) >> 8;
}
