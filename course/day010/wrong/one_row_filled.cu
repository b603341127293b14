// One row filled. The block became smaller and the lines that fill the tiles stayed as they were, one element for each
// thread. Three quarters of the tiles hold what lay there before. The loop over i belongs around the loads, too.
//
// block: 32 8
// grid: ceil(N/32) ceil(M/32)
// expect: uninitialised_read

constexpr int TILE = 32;           // rows and columns of a tile
constexpr int ROWS = 8;            // of threads in a block
constexpr int EACH = TILE / ROWS;  // rows of a tile for a thread

extern "C" __global__ void __launch_bounds__(TILE * ROWS, 6)
product(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int top = blockIdx.y * TILE;
    const int column = blockIdx.x * TILE + x;

    float sum[EACH] = {};  // of rows y, y + 8, y + 16 and y + 24 of the tile
    for (int start = 0; start < K; start += TILE) {
        a[y][x] = top + y < M && start + x < K ? A[(long long)(top + y) * K + start + x] : 0.0f;
        b[y][x] = start + y < K && column < N ? B[(long long)(start + y) * N + column] : 0.0f;
        __syncthreads();

        for (int k = 0; k < TILE; ++k) {
            for (int i = 0; i < EACH; ++i) sum[i] += a[y + ROWS * i][k] * b[k][x];  // <- here
        }
        __syncthreads();
    }
    for (int i = 0; i < EACH; ++i) {
        const int row = top + y + ROWS * i;
        if (row < M && column < N) C[(long long)row * N + column] = sum[i];
    }
}
