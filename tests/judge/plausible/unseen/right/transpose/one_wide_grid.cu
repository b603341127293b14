// grid: ceil(N/24)*ceil(M/24)
// block: 24 24
//
// Tiles of 24, the grid in one dimension, the tile's place by division.

template <int SIDE>
struct Tile {
    int cells[SIDE][SIDE + 1];
};

__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ Tile<24> tile;
    const int across = (N + 23) / 24;
    const int left = blockIdx.x % across * 24, top = blockIdx.x / across * 24;
    const int x = threadIdx.x, y = threadIdx.y;
    if (left + x < N && top + y < M) tile.cells[y][x] = __float_as_int(in[(size_t)(top + y) * N + left + x]);
    __syncthreads();
    if (left + y < N && top + x < M) out[(size_t)(left + y) * M + top + x] = __int_as_float(tile.cells[x][y]);
}
