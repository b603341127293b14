// Height for width. A row of the picture is W pixels long, so that the next one begins W further on; there are H of them. The
// two are easily exchanged, as the index has a row in it. On a square picture nothing is seen of it.
//
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: wrong_result

extern "C" __global__ void grayscale(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;

    const long long pixel = (long long)row * H + column;
    const unsigned int red = rgb[3 * pixel], green = rgb[3 * pixel + 1], blue = rgb[3 * pixel + 2];
    gray[pixel] = (unsigned char)((77 * red + 150 * green + 29 * blue + 128) >> 8);
}
