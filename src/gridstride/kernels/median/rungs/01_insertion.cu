// 01 insertion: the nine pixels are sorted, each put in its place among those before it.
//
// Moves: nothing yet. Where a pixel goes is another place for each lane: the loops of a warp go on till the slowest is
//   done, and places that are not known in advance are no registers but memory.
// Mapping: thread (x, y) -> column = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y.
//
// entry: median_insertion
// block: 32 8
// grid: ceil(W/32) ceil(H/8)

extern "C" __global__ void median_insertion(const unsigned char* image, unsigned char* smooth, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;

    int p[9];
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        const int y = min(max(row + k / 3 - 1, 0), H - 1), x = min(max(column + k % 3 - 1, 0), W - 1);
        p[k] = image[(size_t)y * W + x];
    }
#pragma unroll
    for (int k = 1; k < 9; ++k) {
        const int pixel = p[k];
        int place = k;
        while (place > 0 && p[place - 1] > pixel) {
            p[place] = p[place - 1];
            --place;
        }
        p[place] = pixel;
    }
    smooth[(size_t)row * W + column] = p[4];
}
