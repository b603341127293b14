// 01 pixel: one thread turns one pixel (3 bytes: red, green, blue) into one byte of grey.
//
// Moves: nothing yet. Each of the three loads of a warp takes every third byte of 96: the same 3 or 4 sectors are
//   asked for three times, and each request brings one useful byte in three.
// Mapping: thread (x, y) -> column = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y.
//
// entry: gray_pixel
// block: 32 8
// grid: ceil(W/32) ceil(H/8)

extern "C" __global__ void gray_pixel(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;

    const size_t pixel = (size_t)row * W + column;
    const unsigned int red = rgb[3 * pixel], green = rgb[3 * pixel + 1], blue = rgb[3 * pixel + 2];
    // Rec. 601 luma, 0.299 R + 0.587 G + 0.114 B, in 1/256 and rounded.
    gray[pixel] = (unsigned char)((77 * red + 150 * green + 29 * blue + 128) >> 8);
}
