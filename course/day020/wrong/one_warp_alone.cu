// One warp alone. A block of 32 threads needs no warp but itself, and with 8 by 8 elements for each it has the same quotient of
// reads and multiply-adds. Its tile is 64 by 32: each value that is fetched from memory is used a third as often.
//
// block: 32
// grid: ceil(N/32) ceil(M/64)
// expect: too_many sectors

constexpr int TILE = 64, WIDE = 32;  // rows and columns of C for a block
constexpr int STEP = 16;      // of k, for which a tile of A and of B is in shared memory
constexpr int THREADS = 32;  // 8 by 4, each with 8 by 8 elements of C
constexpr int HALF = TILE / 2;
constexpr int ROW_A = TILE + 4;  // floats of a row of tile_a: 4 more, so that the turning stores meet in fewer banks

extern "C" __global__ void __launch_bounds__(THREADS)
product(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ __align__(16) float tile_a[STEP][ROW_A];  // turned: tile_a[k][row]
    __shared__ __align__(16) float tile_b[STEP][WIDE];

    const int t = threadIdx.x;
    const int x = 4 * (t % 4), y = 4 * (t / 4);
    const int top = blockIdx.y * TILE, left = blockIdx.x * WIDE;

    float sum[8][8] = {};
    for (int start = 0; start < K; start += STEP) {
#pragma unroll
        for (int i = 0; i < TILE * STEP / THREADS; ++i) {
            const int row = t / STEP + i * (THREADS / STEP), k_a = t % STEP;
            const bool in_a = top + row < M && start + k_a < K;
            tile_a[k_a][row] = in_a ? A[(size_t)(top + row) * K + start + k_a] : 0.0f;
        }
#pragma unroll
        for (int i = 0; i < STEP; ++i) {
            const int k_b = i, column = t;
            const bool in_b = start + k_b < K && left + column < N;
            tile_b[k_b][column] = in_b ? B[(size_t)(start + k_b) * N + left + column] : 0.0f;
        }
        __syncthreads();

#pragma unroll
        for (int k = 0; k < STEP; ++k) {
            float a[8], b[8];
            *(float4*)&a[0] = *(const float4*)&tile_a[k][y];
            *(float4*)&a[4] = *(const float4*)&tile_a[k][HALF + y];
            *(float4*)&b[0] = *(const float4*)&tile_b[k][x];
            *(float4*)&b[4] = *(const float4*)&tile_b[k][WIDE / 2 + x];
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
        const int row = top + i / 4 * HALF + y + i % 4;
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            const int column = left + j / 4 * (WIDE / 2) + x + j % 4;
            if (row < M && column < N) C[(size_t)row * N + column] = sum[i][j];
        }
    }
}
