// How many blocks load each pixel: tiles of 8 by 4 with a rim of 1, in a picture of 24 by 12.
//
// entry: readers
// block: 24 12
// grid: 1

constexpr int RADIUS = 1, WIDE = 8, TALL = 4;  // rim and pixels of a block
constexpr int W = 24, H = 12;

extern "C" __global__ void readers(int* count)
{
    const int x = threadIdx.x, y = threadIdx.y;
    int blocks = 0;
    for (int top = 0; top < H; top += TALL) {
        for (int left = 0; left < W; left += WIDE) {
            const bool rows = y >= top - RADIUS && y < top + TALL + RADIUS;
            const bool columns = x >= left - RADIUS && x < left + WIDE + RADIUS;
            blocks += rows && columns;
        }
    }
    count[y * W + x] = blocks;
}
