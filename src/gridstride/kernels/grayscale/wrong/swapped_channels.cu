// Swapped channels: blue is taken for red.
//
// entry: gray_swapped_channels
// block: 256
// grid: ceil(H*W/256)
// expect: wrong_result

extern "C" __global__ void gray_swapped_channels(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= H * W) return;
    const unsigned int blue = rgb[3 * pixel], green = rgb[3 * pixel + 1], red = rgb[3 * pixel + 2];
    gray[pixel] = (unsigned char)((77 * red + 150 * green + 29 * blue + 128) >> 8);
}
