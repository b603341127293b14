// out[j][i] = in[i][j], through a tile of shared memory whose rows and whose columns can both be read without conflicts.
//
// block: 32 8
// grid: ceil(N/32) ceil(M/32)

constexpr int TILE = 32;            // rows and columns of a tile, in floats
constexpr int STEP = 8;             // rows that the block moves at a time
constexpr int WORDS = TILE * TILE;  // of shared memory; more where slot() needs more

// 1. At which word of shared memory does element (row, column) of the tile lie? As it stands, a column is in one bank.
__device__ int slot(int row, int column)
{
    return row * TILE + column;
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

    // 2. Write the tile to `out`, turned. The block's place in `out` is turned as well, and so are the bounds.
}
