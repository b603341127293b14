// One guard. The rows are guarded and the columns are not, which no picture shows whose width is a multiple of 32. In any
// other, threads past the right edge do the first pixels of the next row once more; below the last row there is none.
//
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: out_of_bounds

extern "C" __global__ void grayscale(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H) return;
    const long long pixel = (long long)row * W + column;
    const unsigned int red = rgb[3 * pixel];  // <- here
    const unsigned int green = rgb[3 * pixel + 1];  // <- here
    const unsigned int blue = rgb[3 * pixel + 2];  // <- here
    gray[pixel] = (unsigned char)((77 * red + 150 * green + 29 * blue + 128) >> 8);  // <- here
}
