// Which row of threads fills a row of the tile: a tile of 8 by 8, a block of 8 by 2 threads, four rows for each thread.
//
// entry: rows_of
// block: 8 2
// grid: 1

constexpr int TILE = 8, ROWS = 2, EACH = TILE / ROWS;

extern "C" __global__ void rows_of(int* tile)
{
    const int x = threadIdx.x, y = threadIdx.y;
    for (int i = 0; i < EACH; ++i) {
        const int r = y + ROWS * i;
        tile[r * TILE + x] = y;
    }
}
