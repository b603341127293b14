// 03 padded tile: one unused float at the end of each row of the tile.
//
// Moves: wavefronts per shared read, from 32 to 1: rows are 33 floats apart, so a column touches every bank once.
//   Everything else stays as it was.
// Mapping: as in 02.
//
// entry: transpose_padded_tile
// block: 32 8
// grid: ceil(N/32) ceil(M/32)

constexpr int TILE = 32;  // rows and columns of a tile, in floats
constexpr int STEP = 8;   // rows moved at a time
constexpr int PAD = 1;    // floats; 32 + 1 shares no factor with the 32 banks

extern "C" __global__ void transpose_padded_tile(const float* __restrict__ in, float* __restrict__ out, int M, int N)
{
    __shared__ float tile[TILE][TILE + PAD];

    const int column = blockIdx.x * TILE + threadIdx.x;
    const int row = blockIdx.y * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += STEP) {
        if (row + i < M && column < N) tile[threadIdx.y + i][threadIdx.x] = in[(size_t)(row + i) * N + column];
    }
    __syncthreads();

    const int out_column = blockIdx.y * TILE + threadIdx.x;
    const int out_row = blockIdx.x * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += STEP) {
        if (out_row + i < N && out_column < M) {
            out[(size_t)(out_row + i) * M + out_column] = tile[threadIdx.x][threadIdx.y + i];
        }
    }
}
