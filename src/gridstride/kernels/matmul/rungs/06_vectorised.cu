// 06 vectorised: 16 bytes per load and store (float4), in global and in shared memory.
//
// Moves: load and store instructions for the same bytes, to 1/4. A is turned while it is stored to shared
//   memory, so that the 8 rows a thread needs lie side by side and come in two reads instead of eight.
// Mapping: 256 threads for a 128x128 tile of C. Thread t = 16y + x owns rows 4y...4y+3 and 64+4y...64+4y+3,
//   columns likewise with x: groups of four, so that neighbouring lanes read neighbouring float4.
//
// entry: matmul_vectorised
// block: 256
// grid: ceil(N/128) ceil(M/128)

constexpr int BM = 128;     // rows of C per block
constexpr int BN = 128;     // columns of C per block
constexpr int BK = 8;       // steps of k per tile
constexpr int THREADS = 256;
constexpr int HALF = 64;    // distance between the two groups of four rows (columns) of a thread
constexpr int LDA = BM + 4; // floats per row of the turned A: 4 more, so that the turning store has no bank conflict

// Four floats of a row from `column` on; what lies outside the matrix is 0. `vectors`: rows are 16-byte aligned.
__device__ __forceinline__ float4 load4(const float* matrix, int row, int column, int rows, int columns, bool vectors)
{
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (row >= rows) return v;
    const float* p = matrix + (size_t)row * columns + column;
    if (vectors) {
        if (column < columns) v = *reinterpret_cast<const float4*>(p);
    } else {
        if (column < columns) v.x = p[0];
        if (column + 1 < columns) v.y = p[1];
        if (column + 2 < columns) v.z = p[2];
        if (column + 3 < columns) v.w = p[3];
    }
    return v;
}

__device__ __forceinline__ void store4(float* matrix, int row, int column, int rows, int columns, bool vectors,
                                       float4 v)
{
    if (row >= rows) return;
    float* p = matrix + (size_t)row * columns + column;
    if (vectors) {
        if (column < columns) *reinterpret_cast<float4*>(p) = v;
    } else {
        if (column < columns) p[0] = v.x;
        if (column + 1 < columns) p[1] = v.y;
        if (column + 2 < columns) p[2] = v.z;
        if (column + 3 < columns) p[3] = v.w;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
matmul_vectorised(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                  int M, int N, int K)
{
    __shared__ __align__(16) float tile_a[BK][LDA];  // A turned: tile_a[k][row]
    __shared__ __align__(16) float tile_b[BK][BN];

    const int t = threadIdx.x;
    const int x = 4 * (t % 16), y = 4 * (t / 16);
    const int block_row = blockIdx.y * BM;
    const int block_column = blockIdx.x * BN;
    const int a_row = t / 2, a_k = 4 * (t % 2);       // the float4 of A that this thread loads
    const int b_k = t / 32, b_column = 4 * (t % 32);  // the float4 of B that this thread loads
    // A row of K (or N) floats starts on a 16-byte boundary in every row only when K (or N) is a multiple of 4.
    const bool vectors = K % 4 == 0 && N % 4 == 0 && (((size_t)A | (size_t)B | (size_t)C) & 15) == 0;

    float sum[8][8] = {};
    for (int start = 0; start < K; start += BK) {
        const float4 a4 = load4(A, block_row + a_row, start + a_k, M, K, vectors);
        const float4 b4 = load4(B, start + b_k, block_column + b_column, K, N, vectors);
        tile_a[a_k + 0][a_row] = a4.x;
        tile_a[a_k + 1][a_row] = a4.y;
        tile_a[a_k + 2][a_row] = a4.z;
        tile_a[a_k + 3][a_row] = a4.w;
        *reinterpret_cast<float4*>(&tile_b[b_k][b_column]) = b4;
        __syncthreads();

        for (int k = 0; k < BK; ++k) {
            float a[8], b[8];
            *reinterpret_cast<float4*>(&a[0]) = *reinterpret_cast<const float4*>(&tile_a[k][y]);
            *reinterpret_cast<float4*>(&a[4]) = *reinterpret_cast<const float4*>(&tile_a[k][y + HALF]);
            *reinterpret_cast<float4*>(&b[0]) = *reinterpret_cast<const float4*>(&tile_b[k][x]);
            *reinterpret_cast<float4*>(&b[4]) = *reinterpret_cast<const float4*>(&tile_b[k][x + HALF]);
            for (int i = 0; i < 8; ++i) {
                for (int j = 0; j < 8; ++j) sum[i][j] += a[i] * b[j];
            }
        }
        __syncthreads();
    }

    for (int i = 0; i < 8; ++i) {
        const int row = block_row + y + (i / 4) * HALF + i % 4;
        for (int j = 0; j < 8; j += 4) {
            const float4 v = make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
            store4(C, row, block_column + x + (j / 4) * HALF, M, N, vectors, v);
        }
    }
}
