// Rows taken for aligned. Four floats at a time come from global memory too, which saves as many instructions again. A row begins
// at a multiple of K floats, and only where that is a multiple of four, and the matrix begins at one, is a float4 there.
//
// block: 256
// grid: ceil(N/128) ceil(M/128)
// expect: misaligned

constexpr int TILE = 128;     // rows and columns of C for a block
constexpr int STEP = 16;      // of k, for which a tile of A and of B is in shared memory
constexpr int THREADS = 256;  // 16 by 16, each with 8 by 8 elements of C
constexpr int HALF = TILE / 2;
constexpr int ROW_A = TILE + 4;  // floats of a row of tile_a: 4 more, so that the turning stores meet in fewer banks

extern "C" __global__ void __launch_bounds__(THREADS)
product(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ __align__(16) float tile_a[STEP][ROW_A];  // turned: tile_a[k][row]
    __shared__ __align__(16) float tile_b[STEP][TILE];

    const int t = threadIdx.x;
    const int x = 4 * (t % 16), y = 4 * (t / 16);  // rows y to y + 3 and HALF + y to HALF + y + 3, columns likewise
    const int top = blockIdx.y * TILE, left = blockIdx.x * TILE;

    float sum[8][8] = {};
    for (int start = 0; start < K; start += STEP) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int row = t / 4 + 64 * i, k_a = 4 * (t % 4);
            float v[4] = {};
            if (top + row < M && start + k_a + 4 <= K) {
                *(float4*)v = *(const float4*)&A[(size_t)(top + row) * K + start + k_a];  // <- here
            } else if (top + row < M) {
                for (int j = 0; start + k_a + j < K; ++j) v[j] = A[(size_t)(top + row) * K + start + k_a + j];
            }
#pragma unroll
            for (int j = 0; j < 4; ++j) tile_a[k_a + j][row] = v[j];
        }
#pragma unroll
        for (int i = 0; i < TILE * STEP / THREADS; ++i) {
            const int k_b = t / TILE + i * (THREADS / TILE), column = t % TILE;
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
            *(float4*)&b[4] = *(const float4*)&tile_b[k][HALF + x];
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
            const int column = left + j / 4 * HALF + x + j % 4;
            if (row < M && column < N) C[(size_t)row * N + column] = sum[i][j];
        }
    }
}
