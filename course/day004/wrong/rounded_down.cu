// Rounded down. W / 32 blocks of 32 threads look like W threads, and are, for a W that 32 divides. Whole numbers are divided
// without their rest, so what is left of a row, and of the picture below, gets no block at all.
//
// block: 32 8
// grid: W//32 H//8
// expect: wrong_result never_written

extern "C" __global__ void grayscale(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;

    const long long pixel = (long long)row * W + column;
    const unsigned int red = rgb[3 * pixel], green = rgb[3 * pixel + 1], blue = rgb[3 * pixel + 2];
    gray[pixel] = (unsigned char)((77 * red + 150 * green + 29 * blue + 128) >> 8);
}
