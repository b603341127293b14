// The block has 16 rows of threads, three of which make 48 warps, and the loops are those of eight rows. The other eight
// only come to the barriers. So the multiprocessor is full by the count of its places. Half of its warps have nothing to
// do, and there is no wait that they could hide.
//
// block: 32 16
// grid: ceil(N/32) ceil(M/32)
// expect: too_few tile_reads

constexpr int TILE = 32;           // rows and columns of a tile
constexpr int ROWS = 8;            // of threads in a block
constexpr int EACH = TILE / ROWS;  // rows of a tile for a thread

extern "C" __global__ void __launch_bounds__(2 * TILE * ROWS, 3)
product(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int top = blockIdx.y * TILE;
    const int column = blockIdx.x * TILE + x;

    float sum[EACH] = {};  // of rows y, y + 8, y + 16 and y + 24 of the tile
    for (int start = 0; start < K; start += TILE) {
        if (y < ROWS) for (int i = 0; i < EACH; ++i) {
            const int r = y + ROWS * i;  // row of both tiles
            a[r][x] = top + r < M && start + x < K ? A[(long long)(top + r) * K + start + x] : 0.0f;
            b[r][x] = start + r < K && column < N ? B[(long long)(start + r) * N + column] : 0.0f;
        }
        __syncthreads();

        if (y < ROWS) for (int k = 0; k < TILE; ++k) {
            for (int i = 0; i < EACH; ++i) sum[i] += a[y + ROWS * i][k] * b[k][x];
        }
        __syncthreads();
    }
    if (y < ROWS) for (int i = 0; i < EACH; ++i) {
        const int row = top + y + ROWS * i;
        if (row < M && column < N) C[(long long)row * N + column] = sum[i];
    }
}
