// Colour to grey: gray = (77 R + 150 G + 29 B + 128) / 256 for each pixel of a picture of H rows and W columns.
// The three bytes of a pixel lie side by side, the pixels row by row.
//
// 1. The grid, in blocks across and blocks down. It is worked out from H and W: write ceil(…) to round up.
//
// block: 32 8
// grid: 1 1

extern "C" __global__ void grayscale(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    // 2. Which pixel is this thread's? Its neighbour in x should have the neighbour in memory.
    const int column = 0;
    const int row = 0;

    // 3. Who has no pixel?

    const long long pixel = (long long)row * W + column;
    const unsigned int red = rgb[3 * pixel], green = rgb[3 * pixel + 1], blue = rgb[3 * pixel + 2];
    gray[pixel] = (unsigned char)((77 * red + 150 * green + 29 * blue + 128) >> 8);
}
