// entry: product
// block: 256
// grid: ceil(N/128) ceil(M/128)

constexpr int TILE = 128;     // rows and columns of C for a block
constexpr int STEP = 16;      // of k, for which a tile of A and of B is in shared memory
constexpr int THREADS = 256;  // 16 by 16, each with 8 by 8 elements of C
constexpr int ROW_A = TILE + 4;  // floats of a row of tile_a: 4 more, so that the turning stores meet in fewer banks

extern "C" __global__ void __launch_bounds__(THREADS)
product(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ __align__(16) float tile_a[STEP][ROW_A];  // turned: tile_a[k][row]
    __shared__ __align__(16) float tile_b[STEP][TILE];

    const int t = threadIdx.x;
    const int top = blockIdx.y * TILE, left = blockIdx.x * TILE;

    float sum[8][8] = {};
    for (int start = 0; start < K; start += STEP) {
#pragma unroll
        for (int i = 0; i < TILE * STEP / THREADS; ++i) {
            const int row = t / STEP + i * (THREADS / STEP), k_a = t % STEP;
            const int k_b = t / TILE + i * (THREADS / TILE), column = t % TILE;
            const bool in_a = top + row < M && start + k_a < K, in_b = start + k_b < K && left + column < N;
            tile_a[k_a][row] = in_a ? A[(size_t)(top + row) * K + start + k_a] : 0.0f;
            tile_b[k_b][column] = in_b ? B[(size_t)(start + k_b) * N + left + column] : 0.0f;
        }
        __syncthreads();

#pragma unroll
        for (int k = 0; k < STEP; ++k) {
            float a[8], b[8];
#pragma unroll
            for (int i = 0; i < 8; ++i) a[i] = tile_a[k][t / 16 + 16 * i];
#pragma unroll
            for (int j = 0; j < 8; ++j) b[j] = tile_b[k][t % 16 + 16 * j];
#pragma unroll
            for (int i = 0; i < 8; ++i) {
#pragma unroll
                for (int j = 0; j < 8; ++j) sum[i][j] += a[i] * b[j];
            }
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int row = top + t / 16 + 16 * i;
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            const int column = left + t % 16 + 16 * j;
            if (row < M && column < N) C[(size_t)row * N + column] = sum[i][j];
        }
    }
}
