// grid: ceil(H*W/256)
// block: 256
// fault: wrong formula
// kinds: wrong_result
// No half is added before the shift: rounded down, so right only where the fraction is below a half (as in grey pixels).
__global__ void gray_kernel(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < H * W) gray[i] = (rgb[3 * i] * 77 + rgb[3 * i + 1] * 150 + rgb[3 * i + 2] * 29) >> 8;
}
