// 05 register tile, two-dimensional: a thread computes 8x8 elements of C from 8 + 8 values in registers.
//
// Moves: shared loads per multiply-add, from 9/8 to 16/64 = 1/4. From here on the arithmetic units, not
//   shared memory, should be what the kernel waits for most.
// Mapping: 16x16 threads for a 128x128 tile of C. Thread (x, y) owns rows y + 16i and columns x + 16j: strides
//   of 16 rather than 8 neighbours, so that lanes of a warp read neighbouring floats of B (no bank conflict).
//
// entry: matmul_register_tile_2d
// block: 16 16
// grid: ceil(N/128) ceil(M/128)

constexpr int BM = 128;     // rows of C per block
constexpr int BN = 128;     // columns of C per block
constexpr int BK = 8;       // steps of k per tile
constexpr int SIDE = 16;    // threads along each side of the block
constexpr int TM = BM / SIDE, TN = BN / SIDE;  // rows and columns of C per thread: 8 x 8
constexpr int THREADS = SIDE * SIDE;

extern "C" __global__ void __launch_bounds__(THREADS)
matmul_register_tile_2d(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                        int M, int N, int K)
{
    __shared__ float tile_a[BM][BK];
    __shared__ float tile_b[BK][BN];

    const int x = threadIdx.x, y = threadIdx.y;
    const int t = y * SIDE + x;
    const int block_row = blockIdx.y * BM;
    const int block_column = blockIdx.x * BN;

    float sum[TM][TN] = {};
    for (int start = 0; start < K; start += BK) {
        for (int e = t; e < BM * BK; e += THREADS) {
            const int row = block_row + e / BK, k = start + e % BK;
            tile_a[e / BK][e % BK] = (row < M && k < K) ? A[(size_t)row * K + k] : 0.0f;
        }
        for (int e = t; e < BK * BN; e += THREADS) {
            const int k = start + e / BN, column = block_column + e % BN;
            tile_b[e / BN][e % BN] = (k < K && column < N) ? B[(size_t)k * N + column] : 0.0f;
        }
        __syncthreads();

        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; ++i) a[i] = tile_a[y + i * SIDE][k];
            for (int j = 0; j < TN; ++j) b[j] = tile_b[k][x + j * SIDE];
            for (int i = 0; i < TM; ++i) {
                for (int j = 0; j < TN; ++j) sum[i][j] += a[i] * b[j];
            }
        }
        __syncthreads();
    }

    for (int i = 0; i < TM; ++i) {
        const int row = block_row + y + i * SIDE;
        for (int j = 0; j < TN; ++j) {
            const int column = block_column + x + j * SIDE;
            if (row < M && column < N) C[(size_t)row * N + column] = sum[i][j];
        }
    }
}
