// Sixteen each. If four rows for each thread are good, sixteen look better: blocks of two warps fill places to the last
// one. But each of them has 8 KiB of tiles, and after eleven of them there is no shared memory left.
//
// block: 32 2
// grid: ceil(N/32) ceil(M/32)
// expect: too_many empty_places

constexpr int TILE = 32;           // rows and columns of a tile
constexpr int ROWS = 2;            // of threads in a block
constexpr int EACH = TILE / ROWS;  // rows of a tile for a thread

extern "C" __global__ void __launch_bounds__(TILE * ROWS, 24)
product(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int top = blockIdx.y * TILE;
    const int column = blockIdx.x * TILE + x;

    float sum[EACH] = {};  // of rows y, y + 2, … y + 30 of the tile
    for (int start = 0; start < K; start += TILE) {
        for (int i = 0; i < EACH; ++i) {
            const int r = y + ROWS * i;  // row of both tiles
            a[r][x] = top + r < M && start + x < K ? A[(long long)(top + r) * K + start + x] : 0.0f;
            b[r][x] = start + r < K && column < N ? B[(long long)(start + r) * N + column] : 0.0f;
        }
        __syncthreads();

        for (int k = 0; k < TILE; ++k) {
            for (int i = 0; i < EACH; ++i) sum[i] += a[y + ROWS * i][k] * b[k][x];
        }
        __syncthreads();
    }
    for (int i = 0; i < EACH; ++i) {
        const int row = top + y + ROWS * i;
        if (row < M && column < N) C[(long long)row * N + column] = sum[i];
    }
}
