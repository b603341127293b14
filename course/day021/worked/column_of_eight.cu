// Each thread has eight elements of one column of C, and the block 64 by 64 of them.
//
// entry: column_of_eight
// block: 512
// grid: ceil(N/64) ceil(M/64)

constexpr int TILE = 64;  // rows and columns of C for a block
constexpr int STEP = 8;   // of k, for which a tile of A and of B is in shared memory
constexpr int ROWS = 8;   // of C for a thread

extern "C" __global__ void column_of_eight(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float tile_a[TILE][STEP];
    __shared__ float tile_b[STEP][TILE];

    const int t = threadIdx.x;
    const int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    const int column = t % TILE, first_row = t / TILE * ROWS;

    float sum[ROWS] = {};
    for (int start = 0; start < K; start += STEP) {
        const int row_a = top + t / STEP, k_a = start + t % STEP;
        const int k_b = start + t / TILE, column_b = left + column;
        tile_a[t / STEP][t % STEP] = row_a < M && k_a < K ? A[row_a * K + k_a] : 0.0f;
        tile_b[t / TILE][column] = k_b < K && column_b < N ? B[k_b * N + column_b] : 0.0f;
        __syncthreads();

        for (int k = 0; k < STEP; ++k) {
            const float b = tile_b[k][column];
            for (int i = 0; i < ROWS; ++i)
                sum[i] += tile_a[first_row + i][k] * b;
        }
        __syncthreads();
    }
    for (int i = 0; i < ROWS; ++i) {
        const int row = top + first_row + i;
        if (row < M && left + column < N) C[row * N + left + column] = sum[i];
    }
}
