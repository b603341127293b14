// The same in steps of TILE: a block brings a square of A and a square of B into shared memory and reads them there. For
// matrices whose side is a multiple of TILE.
//
// entry: tiled
// block: 8 8
// grid: N//8 N//8

constexpr int TILE = 8;  // rows and columns of a tile, and of the block

extern "C" __global__ void tiled(
    const float* A, const float* B, float* C, int N)
{
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * TILE + x;
    const int row = blockIdx.y * TILE + y;

    float sum = 0.0f;
    for (int start = 0; start < N; start += TILE) {
        a[y][x] = A[row * N + start + x];
        b[y][x] = B[(start + y) * N + column];
        __syncthreads();  // both tiles are whole before anyone reads them

        for (int k = 0; k < TILE; ++k) {
            sum += a[y][k] * b[k][x];
        }
        __syncthreads();  // all have read them before any is filled anew
    }
    C[row * N + column] = sum;
}
