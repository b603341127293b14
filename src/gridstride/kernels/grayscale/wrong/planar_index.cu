// Planar index: reads the image as three planes, one colour after the other, but its colours lie side by side.
//
// entry: gray_planar_index
// block: 256
// grid: ceil(H*W/256)
// expect: wrong_result

extern "C" __global__ void gray_planar_index(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    const int pixels = H * W;
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= pixels) return;
    const unsigned int red = rgb[pixel], green = rgb[pixels + pixel], blue = rgb[2 * pixels + pixel];
    gray[pixel] = (unsigned char)((77 * red + 150 * green + 29 * blue + 128) >> 8);
}
