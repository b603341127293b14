// entry: product
// block: 16 16
// grid: ceil(N/64) ceil(M/64)

constexpr int TILE = 64;           // rows and columns of C for a block
constexpr int STEP = 16;           // of k, for which a tile of A and of B is in shared memory
constexpr int SIDE = 16;           // threads along each side of the block
constexpr int EACH = TILE / SIDE;  // rows and columns of C for a thread

extern "C" __global__ void product(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float tile_a[TILE][STEP];
    __shared__ float tile_b[STEP][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int t = y * SIDE + x;
    const int top = blockIdx.y * TILE, left = blockIdx.x * TILE;  // of the block's piece of C

    float sum[EACH][EACH] = {};  // of rows y + 16 i and columns x + 16 j
    for (int start = 0; start < K; start += STEP) {
        for (int e = t; e < TILE * STEP; e += SIDE * SIDE) {
            const int row = top + e / STEP, k_a = start + e % STEP;
            const int k_b = start + e / TILE, column = left + e % TILE;
            tile_a[e / STEP][e % STEP] = row < M && k_a < K ? A[(size_t)row * K + k_a] : 0.0f;
            tile_b[e / TILE][e % TILE] = k_b < K && column < N ? B[(size_t)k_b * N + column] : 0.0f;
        }
        __syncthreads();

        for (int k = 0; k < STEP; ++k) {
            float a[EACH], b[EACH];
            for (int i = 0; i < EACH; ++i) a[i] = tile_a[y + SIDE * i][k];
            for (int j = 0; j < EACH; ++j) b[j] = tile_b[k][x + SIDE * j];
            for (int i = 0; i < EACH; ++i) {
                for (int j = 0; j < EACH; ++j) sum[i][j] += a[i] * b[j];
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < EACH; ++i) {
        for (int j = 0; j < EACH; ++j) {
            const int row = top + y + SIDE * i, column = left + x + SIDE * j;
            if (row < M && column < N) C[(size_t)row * N + column] = sum[i][j];
        }
    }
}
