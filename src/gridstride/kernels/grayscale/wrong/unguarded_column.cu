// Unguarded column: only the row is checked, so columns past the width wrap into the next row and, at the end of the
// image, leave it.
//
// entry: gray_unguarded_column
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: out_of_bounds

extern "C" __global__ void gray_unguarded_column(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H) return;
    const int pixel = row * W + column;
    const unsigned int red = rgb[3 * pixel];  // <- here
    const unsigned int green = rgb[3 * pixel + 1];  // <- here
    const unsigned int blue = rgb[3 * pixel + 2];  // <- here
    gray[pixel] = (unsigned char)((77 * red + 150 * green + 29 * blue + 128) >> 8);  // <- here
}
