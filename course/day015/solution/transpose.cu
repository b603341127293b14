// out[j][i] = in[i][j], through a tile of shared memory whose rows and whose columns can both be read without conflicts.
//
// block: 32 8
// grid: ceil(N/32) ceil(M/32)

constexpr int TILE = 32;            // rows and columns of a tile, in floats
constexpr int STEP = 8;             // rows that the block moves at a time
constexpr int WORDS = TILE * TILE;  // of shared memory: a swizzle needs no more than the elements

// Along a row (column changes) and down a column (row changes) column ^ row takes each of 32 values once.
// Padding is as good: row * (TILE + 1) + column, with WORDS = TILE * (TILE + 1).
__device__ int slot(int row, int column)
{
    return row * TILE + (column ^ row);
}

extern "C" __global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float tile[WORDS];

    const int x = threadIdx.x, y = threadIdx.y;  // x is the lane, y the warp
    const int column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    for (int i = 0; i < TILE; i += STEP) {
        if (row + i < M && column < N) tile[slot(y + i, x)] = in[(size_t)(row + i) * N + column];
    }
    __syncthreads();

    const int out_column = blockIdx.y * TILE + x, out_row = blockIdx.x * TILE + y;
    for (int i = 0; i < TILE; i += STEP) {
        if (out_row + i < N && out_column < M) {
            out[(size_t)(out_row + i) * M + out_column] = tile[slot(x, y + i)];
        }
    }
}
