// 02 shared tile: the turn happens in shared memory, so that reads and writes both run along rows.
//
// Moves: sectors per write request, from 32 to 4. The price: reading a column of a 32-wide tile takes all 32 lanes
//   to the same bank, so each of those shared reads needs 32 wavefronts instead of 1.
// Mapping: 32x8 threads move a 32x32 tile in four steps of 8 rows; thread (x, y) reads input columns x of rows
//   y, y + 8 ... and writes output columns x of rows y, y + 8 ...
//
// entry: transpose_shared_tile
// block: 32 8
// grid: ceil(N/32) ceil(M/32)

constexpr int TILE = 32;  // rows and columns of a tile, in floats
constexpr int STEP = 8;   // rows moved at a time

extern "C" __global__ void transpose_shared_tile(const float* __restrict__ in, float* __restrict__ out, int M, int N)
{
    __shared__ float tile[TILE][TILE];

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
