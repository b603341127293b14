// Byte overflow: the weighted sum needs 16 bits and is kept in 8.
//
// entry: gray_byte_overflow
// block: 256
// grid: ceil(H*W/256)
// expect: wrong_result

extern "C" __global__ void gray_byte_overflow(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= H * W) return;
    unsigned char sum = (unsigned char)(77 * rgb[3 * pixel]);
    sum = (unsigned char)(sum + 150 * rgb[3 * pixel + 1]);
    sum = (unsigned char)(sum + 29 * rgb[3 * pixel + 2]);
    gray[pixel] = (unsigned char)((sum + 128) >> 8);
}
