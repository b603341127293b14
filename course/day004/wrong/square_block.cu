// A square block's index. The line for rows was made from the line for columns, and one letter of three was missed:
// blockDim.x is the same number as blockDim.y as long as blocks are square. This block has 8 rows, and each block of the grid
// steps over 32. Most rows are nobody's.
//
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: wrong_result never_written

extern "C" __global__ void grayscale(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.x + threadIdx.y;
    if (row >= H || column >= W) return;

    const long long pixel = (long long)row * W + column;
    const unsigned int red = rgb[3 * pixel], green = rgb[3 * pixel + 1], blue = rgb[3 * pixel + 2];
    gray[pixel] = (unsigned char)((77 * red + 150 * green + 29 * blue + 128) >> 8);
}
