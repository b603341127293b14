// Down the columns. x for rows and y for columns, in the grid as in the kernel: every pixel has its thread, and every value is
// right. But lanes count along threadIdx.x. Those of a warp lie one below the other in the picture, a whole row apart in memory.
//
// block: 32 8
// grid: ceil(H/32) ceil(W/8)
// expect: too_many load_sectors

extern "C" __global__ void grayscale(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;
    const long long pixel = (long long)row * W + column;
    const unsigned int red = rgb[3 * pixel], green = rgb[3 * pixel + 1], blue = rgb[3 * pixel + 2];  // <- here
    gray[pixel] = (unsigned char)((77 * red + 150 * green + 29 * blue + 128) >> 8);
}
