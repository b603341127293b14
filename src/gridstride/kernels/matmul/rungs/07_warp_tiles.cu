// 07 warp tiles: each warp owns a compact 64x32 piece of the block's tile instead of long thin stripes.
//
// Moves: shared wavefronts per step of k and warp, from 12 to 8. The 8 lanes that a 16-byte read serves at a time make
//   two such groups into one where neighbours, or every second lane, want the same 16 bytes: here they do for A and B.
//   Same arithmetic, and what a warp reads per step shrinks from 144 floats to 96 (64 of A, 32 of B).
// Mapping: 256 threads are 8 warps, 2 down and 4 across the 128x128 tile of C. The lanes of a warp are 8 down and 4
//   across, numbered in pairs one below the other; a lane owns rows 4 * (its place down) + 0...3 and + 32, columns
//   4 * (its place across) + 0...3 and + 16.
//
// entry: matmul_warp_tiles
// block: 256
// grid: ceil(N/128) ceil(M/128)

constexpr int BM = 128;      // rows of C per block
constexpr int BN = 128;      // columns of C per block
constexpr int BK = 8;        // steps of k per tile
constexpr int WM = 64;       // rows of C per warp
constexpr int WN = 32;       // columns of C per warp
constexpr int THREADS = 256;
constexpr int LDA = BM + 4;  // floats per row of the turned A: 4 more, so that the turning store has no bank conflict

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
matmul_warp_tiles(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                  int M, int N, int K)
{
    __shared__ __align__(16) float tile_a[BK][LDA];  // A turned: tile_a[k][row]
    __shared__ __align__(16) float tile_b[BK][BN];

    const int t = threadIdx.x;
    const int warp = t / 32, lane = t % 32;
    const int y = (warp / 4) * WM + 4 * (lane / 8 * 2 + lane % 2);  // first row of this thread inside the tile
    const int x = (warp % 4) * WN + 4 * (lane / 2 % 4);             // first column
    const int block_row = blockIdx.y * BM;
    const int block_column = blockIdx.x * BN;
    const int a_row = t / 2, a_k = 4 * (t % 2);
    const int b_k = t / 32, b_column = 4 * (t % 32);
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
            *reinterpret_cast<float4*>(&a[4]) = *reinterpret_cast<const float4*>(&tile_a[k][y + WM / 2]);
            *reinterpret_cast<float4*>(&b[0]) = *reinterpret_cast<const float4*>(&tile_b[k][x]);
            *reinterpret_cast<float4*>(&b[4]) = *reinterpret_cast<const float4*>(&tile_b[k][x + WN / 2]);
            for (int i = 0; i < 8; ++i) {
                for (int j = 0; j < 8; ++j) sum[i][j] += a[i] * b[j];
            }
        }
        __syncthreads();
    }

    for (int i = 0; i < 8; ++i) {
        const int row = block_row + y + (i / 4) * (WM / 2) + i % 4;
        for (int j = 0; j < 8; j += 4) {
            const float4 v = make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
            store4(C, row, block_column + x + (j / 4) * (WN / 2), M, N, vectors, v);
        }
    }
}
