// grid: ceil(H*W/128)
// block: 128
// fault: wrong formula
// kinds: wrong_result
// Adds 127 instead of 128: wrong for sums that end in exactly a half, such as r = 0, g = 64, b = 0 ... 1 in 256.
__global__ void gray(const uchar3* rgb, unsigned char* gray, int H, int W)
{
    for (int i = blockIdx.x * 128 + threadIdx.x; i < H * W; i += gridDim.x * 128) {
        uchar3 p = rgb[i];
        gray[i] = (77 * p.x + 150 * p.y + 29 * p.z + 127) >> 8;
    }
}
