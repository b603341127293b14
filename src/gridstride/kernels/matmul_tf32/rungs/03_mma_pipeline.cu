// 03 mma pipeline: fragments by hand, four stages of tiles on their way by cp.async, a swizzle in place of padding.
//
// Moves: waiting, and shared reads. Three stages are on their way while one is multiplied. ldmatrix knows halves only,
//   but a row of 8 of them is one of 4 floats, and lane l gets of each 8x4 piece float l % 4 of row l / 4, as mma wants
//   it. What it brings is rounded in registers, once for all products that it is used in.
// Mapping: 8 warps, 2 down and 4 across a 128x256 tile of C. Of each 16x8 piece lane l has rows l / 4 and l / 4 + 8,
//   columns 2 (l % 4) and the next. 16 bytes of a row are a chunk; chunk c of row r lies at place c ^ (r / 2 % 4) in
//   rows of 64 bytes: the 8 rows that ldmatrix reads at a time lie in different banks.
//
// entry: matmul_tf32_mma_pipeline
// block: 256
// grid: ceil(N/256) ceil(M/128)
// shared: 4*4*16*(128+256)
// needs: 8.0

constexpr int BM = 128, BN = 256;  // rows and columns of C per block
constexpr int BK = 16;             // steps of k per stage
constexpr int STAGES = 4;
constexpr int THREADS = 256;
constexpr int WM = 64, WN = 64;    // rows and columns of C per warp
constexpr int CHUNKS = BK / 4;     // of 16 bytes, in a row

struct Stage {
    float a[BM * BK];
    float b[BN * BK];
};

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

// Where chunk c of row r lies in a tile, in floats.
__device__ __forceinline__ int place(int r, int c) { return (r * CHUNKS + (c ^ (r / 2 % 4))) * 4; }

struct Matrix {
    const float* elements;
    int rows, columns;
    bool vectors;  // rows are 16-byte aligned
};

__device__ __forceinline__ Matrix matrix(const float* elements, int rows, int columns)
{
    return {elements, rows, columns, columns % 4 == 0 && ((size_t)elements & 15) == 0};
}

// Ask for `rows` rows of BK steps of k; what lies outside the matrix is 0.
template <int ROWS>
__device__ __forceinline__ void fetch(float* tile, const Matrix& m, int row, int start)
{
#pragma unroll
    for (int i = 0; i < ROWS * CHUNKS / THREADS; ++i) {
        const int e = threadIdx.x + i * THREADS, r = e / CHUNKS, c = e % CHUNKS, k = start + c * 4;
        float* to = tile + place(r, c);
        const float* p = m.elements + (size_t)(row + r) * m.columns + k;
        if (m.vectors) {
            const int bytes = row + r < m.rows && k < m.columns ? 16 : 0;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                         ::"r"(address(to)), "l"(bytes ? p : m.elements), "r"(bytes) : "memory");
            continue;
        }
#pragma unroll 1
        for (int j = 0; j < 4; ++j) to[j] = row + r < m.rows && k + j < m.columns ? p[j] : 0.0f;
    }
}

// Four 8x4 pieces, each element rounded to the nearest number of tf32.
__device__ __forceinline__ void load_rounded(unsigned int (&r)[4], const float* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
#pragma unroll
    for (int i = 0; i < 4; ++i) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r[i]) : "f"(__uint_as_float(r[i])));
}

__device__ __forceinline__ void mma(float (&c)[4], const unsigned int (&a)[4], unsigned int b0, unsigned int b1)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
matmul_tf32_mma_pipeline(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                         int M, int N, int K)
{
    extern __shared__ __align__(128) unsigned char memory[];
    Stage* stages = reinterpret_cast<Stage*>(memory);
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const int block_row = blockIdx.y * BM, block_column = blockIdx.x * BN;
    const int y = warp / 4 * WM, x = warp % 4 * WN;  // the warp's piece of the tile
    const Matrix a = matrix(A, M, K), b = matrix(B, N, K);

    float sum[WM / 16][WN / 8][4] = {};
#pragma unroll 1
    for (int step = 1 - STAGES; step * BK < K; ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();  // the stage is there for all, and all have left the one that is filled next
        const int next = step + STAGES - 1;
        if (next * BK < K) {
            fetch<BM>(stages[next % STAGES].a, a, block_row, next * BK);
            fetch<BN>(stages[next % STAGES].b, b, block_column, next * BK);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        if (step < 0) continue;  // the first stages are on their way only
        const Stage& stage = stages[step % STAGES];
#pragma unroll
        for (int k = 0; k < BK; k += 8) {
            unsigned int left[WM / 16][4], right[WN / 16][4];
#pragma unroll
            for (int i = 0; i < WM / 16; ++i)
                load_rounded(left[i], &stage.a[place(y + 16 * i + lane % 16, k / 4 + lane / 16)]);
#pragma unroll
            for (int j = 0; j < WN / 16; ++j)
                load_rounded(right[j], &stage.b[place(x + 16 * j + lane / 16 * 8 + lane % 8, k / 4 + lane / 8 % 2)]);
#pragma unroll
            for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
                for (int j = 0; j < WN / 8; ++j)
                    mma(sum[i][j], left[i], right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]);
            }
        }
    }

    const bool pairs = N % 2 == 0 && ((size_t)C & 7) == 0;
#pragma unroll
    for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
        for (int e = 0; e < 4; e += 2) {
            const int row = block_row + y + 16 * i + lane / 4 + 4 * e;
            if (row >= M) continue;
#pragma unroll
            for (int j = 0; j < WN / 8; ++j) {
                const int column = block_column + x + 8 * j + 2 * (lane % 4);
                float* p = C + (size_t)row * N + column;
                if (column >= N) continue;
                if (pairs) *reinterpret_cast<float2*>(p) = make_float2(sum[i][j][e], sum[i][j][e + 1]);
                if (!pairs) p[0] = sum[i][j][e];
                if (!pairs && column + 1 < N) p[1] = sum[i][j][e + 1];
            }
        }
    }
}
