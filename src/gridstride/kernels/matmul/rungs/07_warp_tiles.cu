// 07 warp tiles: each warp owns a compact 64x64 piece of C, and each of its threads 16x8 elements of that.
//
// Moves: shared loads per multiply-add, from 16/64 = 1/4 to 24/128 = 3/16: a longer side shares its values with more
//   partners. 128 registers of each thread hold C alone. Shared wavefronts fall by half: see the pairs below.
// Mapping: 256 threads are 8 warps, 2 down and 4 across a 128x256 tile of C, 64x64 each. Lanes are 4 down and 8
//   across, numbered in pairs one below the other: the 8 lanes that a 16-byte read serves together then want 64 bytes
//   of B and not 128, two such groups are served at once, and a step of k costs 12 wavefronts, not 16. A lane owns
//   rows 4 * (its place down) + 0...3 in four groups 16 apart, columns 4 * (its place across) + 0...3 in two groups
//   32 apart.
//
// entry: matmul_warp_tiles
// block: 256
// grid: ceil(N/256) ceil(M/128)

constexpr int BM = 128;      // rows of C per block
constexpr int BN = 256;      // columns of C per block
constexpr int BK = 8;        // steps of k per tile
constexpr int WM = 64;       // rows of C per warp
constexpr int WN = 64;       // columns of C per warp
constexpr int TM = 16;       // rows of C per thread
constexpr int TN = 8;        // columns of C per thread
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

struct Stage {
    float a[BK][LDA];  // A turned: a[k][row]
    float b[BK][BN];
};

// What a thread multiplies in one step of k.
struct Fragment {
    float a[TM], b[TN];

    __device__ __forceinline__ void load(const Stage& stage, int k, int y, int x)
    {
#pragma unroll
        for (int i = 0; i < TM; i += 4) {
            *reinterpret_cast<float4*>(&a[i]) = *reinterpret_cast<const float4*>(&stage.a[k][y + 4 * i]);
        }
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            *reinterpret_cast<float4*>(&b[j]) = *reinterpret_cast<const float4*>(&stage.b[k][x + 8 * j]);
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 1)
matmul_warp_tiles(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                  int M, int N, int K)
{
    __shared__ __align__(16) Stage stage;

    const int t = threadIdx.x;
    const int warp = t / 32, lane = t % 32;
    const int y = warp / 4 * WM + 4 * (lane / 16 * 2 + lane % 2);  // first row of this thread inside the tile
    const int x = warp % 4 * WN + 4 * (lane / 2 % 8);              // first column
    const int block_row = blockIdx.y * BM;
    const int block_column = blockIdx.x * BN;
    const int a_row = t / 2, a_k = 4 * (t % 2);
    const int b_k = t / 64, b_column = 4 * (t % 64);  // and once more 4 steps of k further down
    const bool vectors = K % 4 == 0 && N % 4 == 0 && (((size_t)A | (size_t)B | (size_t)C) & 15) == 0;

    float sum[TM][TN] = {};
    for (int start = 0; start < K; start += BK) {
        const float4 a4 = load4(A, block_row + a_row, start + a_k, M, K, vectors);
        stage.a[a_k + 0][a_row] = a4.x;
        stage.a[a_k + 1][a_row] = a4.y;
        stage.a[a_k + 2][a_row] = a4.z;
        stage.a[a_k + 3][a_row] = a4.w;
        for (int k = b_k; k < BK; k += 4) {
            const float4 b4 = load4(B, start + k, block_column + b_column, K, N, vectors);
            *reinterpret_cast<float4*>(&stage.b[k][b_column]) = b4;
        }
        __syncthreads();

#pragma unroll
        for (int k = 0; k < BK; ++k) {
            Fragment f;
            f.load(stage, k, y, x);
#pragma unroll
            for (int i = 0; i < TM; ++i) {
#pragma unroll
                for (int j = 0; j < TN; ++j) sum[i][j] += f.a[i] * f.b[j];
            }
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < TM; ++i) {
        const int row = block_row + y + (i / 4) * 16 + i % 4;
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            const float4 v = make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
            store4(C, row, block_column + x + (j / 4) * 32, M, N, vectors, v);
        }
    }
}
