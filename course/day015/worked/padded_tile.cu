// The same tile with one unused float at the end of each row.
//
// entry: padded_tile
// block: 32 8
// grid: ceil(N/32) ceil(M/32)

constexpr int TILE = 32;  // rows and columns of a tile, in floats
constexpr int STEP = 8;   // rows that the block moves at a time

extern "C" __global__ void padded_tile(const float* in, float* out, int M, int N)
{
    __shared__ float tile[TILE][TILE + 1];

    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    for (int i = 0; i < TILE; i += STEP) {
        if (row + i < M && column < N) tile[y + i][x] = in[(row + i) * N + column];
    }
    __syncthreads();

    const int out_column = blockIdx.y * TILE + x, out_row = blockIdx.x * TILE + y;
    for (int i = 0; i < TILE; i += STEP) {
        if (out_row + i < N && out_column < M) {
            out[(out_row + i) * M + out_column] = tile[x][y + i];
        }
    }
}
