// 08 double buffer: the next tile travels from global memory while this one is multiplied.
//
// Moves: waiting. Global loads for tile t + 1 start before the arithmetic of tile t, shared reads for step k + 1
//   before the arithmetic of step k, and one barrier per tile is left instead of two. Counts stay as they were, but
//   for one more tile that is fetched and not used.
// Mapping: as in 07.
//
// entry: matmul_double_buffer
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

// One thread's share of a tile on its way from global to shared memory: 4 floats of A, 8 of B.
struct InFlight {
    float4 a, b0, b1;
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
matmul_double_buffer(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                     int M, int N, int K)
{
    __shared__ __align__(16) Stage stages[2];

    const int t = threadIdx.x;
    const int warp = t / 32, lane = t % 32;
    const int y = (warp / 4) * WM + 4 * (lane / 8);  // first row of this thread inside the tile
    const int x = (warp % 4) * WN + 4 * (lane % 8);  // first column
    const int block_row = blockIdx.y * BM;
    const int block_column = blockIdx.x * BN;
    const int a_row = t / 2, a_k = 4 * (t % 2);
    const int b_k = t / 64, b_column = 4 * (t % 64);  // and once more 4 steps of k further down
    const bool vectors = K % 4 == 0 && N % 4 == 0 && (((size_t)A | (size_t)B | (size_t)C) & 15) == 0;

    const auto fetch = [&](int start) {
        return InFlight{load4(A, block_row + a_row, start + a_k, M, K, vectors),
                        load4(B, start + b_k, block_column + b_column, K, N, vectors),
                        load4(B, start + b_k + 4, block_column + b_column, K, N, vectors)};
    };
    const auto put = [&](Stage& stage, const InFlight& flight) {
        stage.a[a_k + 0][a_row] = flight.a.x;
        stage.a[a_k + 1][a_row] = flight.a.y;
        stage.a[a_k + 2][a_row] = flight.a.z;
        stage.a[a_k + 3][a_row] = flight.a.w;
        *reinterpret_cast<float4*>(&stage.b[b_k][b_column]) = flight.b0;
        *reinterpret_cast<float4*>(&stage.b[b_k + 4][b_column]) = flight.b1;
    };

    float sum[TM][TN] = {};
    Fragment fragments[2];
    put(stages[0], fetch(0));
    __syncthreads();
    fragments[0].load(stages[0], 0, y, x);

    int current = 0;
    for (int start = 0; start < K; start += BK) {
        // Past the end of K this fetches zeros that nobody reads: cheaper than asking each time whether there is more.
        const InFlight flight = fetch(start + BK);
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            if (k + 1 < BK) {
                fragments[(k + 1) % 2].load(stages[current], k + 1, y, x);
            } else {
                // Everyone left the other stage at the barrier of the tile before: it is free to be filled.
                put(stages[current ^ 1], flight);
                __syncthreads();
                current ^= 1;
                fragments[0].load(stages[current], 0, y, x);
            }
            const Fragment& f = fragments[k % 2];
#pragma unroll
            for (int i = 0; i < TM; ++i) {
#pragma unroll
                for (int j = 0; j < TN; ++j) sum[i][j] += f.a[i] * f.b[j];
            }
        }
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
