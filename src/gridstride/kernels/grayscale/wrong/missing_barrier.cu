// Missing barrier: pixels are picked from the stage while other warps are still filling it.
//
// entry: gray_missing_barrier
// block: 256
// grid: ceil(H*W/256)
// expect: race

extern "C" __global__ void gray_missing_barrier(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    __shared__ unsigned char stage[3 * 256];
    const int pixels = H * W;
    const int first = blockIdx.x * 256;
    for (int i = threadIdx.x; i < 3 * 256; i += 256) {
        if (3 * first + i < 3 * pixels) stage[i] = rgb[3 * first + i];  // <- here
    }
    if (first + (int)threadIdx.x >= pixels) return;
    const unsigned int red = stage[3 * threadIdx.x];  // <- here
    const unsigned int green = stage[3 * threadIdx.x + 1];  // <- here
    const unsigned int blue = stage[3 * threadIdx.x + 2];  // <- here
    gray[first + threadIdx.x] = (unsigned char)((77 * red + 150 * green + 29 * blue + 128) >> 8);
}
