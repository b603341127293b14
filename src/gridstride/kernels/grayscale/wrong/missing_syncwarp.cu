// Missing syncwarp: lanes pick from the stage what other lanes of their warp may not have put there yet.
//
// Right wherever a warp runs in step, which no GPU since Volta promises.
//
// entry: gray_missing_syncwarp
// block: 256
// grid: ceil(H*W/256)
// expect: race

extern "C" __global__ void gray_missing_syncwarp(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    __shared__ unsigned char stages[8][3 * 32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int first = blockIdx.x * 256 + warp * 32, pixels = H * W;
    unsigned char* stage = stages[warp];
    for (int i = lane; i < 3 * 32; i += 32) {
        if (3 * first + i < 3 * pixels) stage[i] = rgb[3 * first + i];  // <- here
    }
    if (first + lane >= pixels) return;
    const unsigned int red = stage[3 * lane];  // <- here
    const unsigned int green = stage[3 * lane + 1];  // <- here
    const unsigned int blue = stage[3 * lane + 2];  // <- here
    gray[first + lane] = (unsigned char)((77 * red + 150 * green + 29 * blue + 128) >> 8);
}
