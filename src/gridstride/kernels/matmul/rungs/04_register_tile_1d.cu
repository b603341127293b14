// 04 register tile, one-dimensional: a thread computes 8 elements of one column of C.
//
// Moves: shared loads per multiply-add, from 2 to 9/8: a value of B is read once and used for 8 rows.
//   Fewer threads do more work each, so instructions per multiply-add fall as well.
// Mapping: 512 threads for a 64x64 tile of C. Thread t -> column t % 64, rows 8 * (t / 64) ... + 7. All lanes
//   of a warp share their rows: a read of A is one broadcast, a read of B is 32 neighbouring floats.
//
// entry: matmul_register_tile_1d
// block: 512
// grid: ceil(N/64) ceil(M/64)

constexpr int BM = 64;  // rows of C per block
constexpr int BN = 64;  // columns of C per block
constexpr int BK = 8;   // steps of k per tile: 64 * 8 elements, one per thread
constexpr int TM = 8;   // rows of C per thread

extern "C" __global__ void __launch_bounds__(BM * BN / TM)
matmul_register_tile_1d(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                        int M, int N, int K)
{
    __shared__ float tile_a[BM][BK];
    __shared__ float tile_b[BK][BN];

    const int t = threadIdx.x;
    const int block_row = blockIdx.y * BM;
    const int block_column = blockIdx.x * BN;
    const int a_row = t / BK, a_k = t % BK;     // the element of A that this thread loads
    const int b_k = t / BN, b_column = t % BN;  // the element of B that this thread loads
    const int column = t % BN;
    const int first_row = (t / BN) * TM;

    float sum[TM] = {};
    for (int start = 0; start < K; start += BK) {
        const int row_a = block_row + a_row, k_a = start + a_k;
        const int k_b = start + b_k, column_b = block_column + b_column;
        tile_a[a_row][a_k] = (row_a < M && k_a < K) ? A[(size_t)row_a * K + k_a] : 0.0f;
        tile_b[b_k][b_column] = (k_b < K && column_b < N) ? B[(size_t)k_b * N + column_b] : 0.0f;
        __syncthreads();

        for (int k = 0; k < BK; ++k) {
            const float b = tile_b[k][column];
            for (int i = 0; i < TM; ++i) sum[i] += tile_a[first_row + i][k] * b;
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i) {
        const int row = block_row + first_row + i;
        if (row < M && block_column + column < N) C[(size_t)row * N + block_column + column] = sum[i];
    }
}
