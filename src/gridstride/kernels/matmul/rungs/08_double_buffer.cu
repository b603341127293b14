// 08 double buffer: the next tile travels from global memory while this one is multiplied.
//
// Moves: waiting. The global loads of tile t + 1 start at step 1 of tile t and reach the other half of shared memory at
//   step 12, when they have arrived; shared reads for step k + 1 start before the arithmetic of step k. One barrier per
//   16 steps of k is left instead of two per 8. A thread no longer needs a second block beside it to fill its waiting,
//   so it may take the registers of two: 16x8 elements, and shared loads per multiply-add fall from 1/4 to 3/16.
// Mapping: 256 threads are 8 warps, 2 down and 4 across a 128x256 tile of C, 64x64 each. The lanes of a warp are 4 down
//   and 8 across, in pairs as in 07; a lane owns rows 4 * (its place down) + 0...3 in four groups 16 apart, columns
//   4 * (its place across) + 0...3 in two groups 32 apart.
//
// entry: matmul_double_buffer
// block: 256
// grid: ceil(N/256) ceil(M/128)
// shared: 2*4*16*(128+4+256)

constexpr int BM = 128;      // rows of C per block
constexpr int BN = 256;      // columns of C per block
constexpr int BK = 16;       // steps of k per tile
constexpr int WM = 64;       // rows of C per warp
constexpr int WN = 64;       // columns of C per warp
constexpr int TM = 16;       // rows of C per thread
constexpr int TN = 8;        // columns of C per thread
constexpr int THREADS = 256;
constexpr int LDA = BM + 4;  // floats per row of the turned A: 4 more, to halve the turning store's bank conflicts
constexpr int FETCH = 1;     // the step of a tile at which the next one is asked for,
constexpr int PUT = 12;      //   and at which it goes to shared memory: measured, the best of 0 and 1 and of 8 to 15

constexpr int DOWN = WM / TM, ACROSS = WN / TN;                          // lanes of a warp
constexpr int A_ROWS = THREADS / (BK / 4), B_ROWS = THREADS / (BN / 4);  // rows that the block loads at a time
constexpr int A_PARTS = BM / A_ROWS, B_PARTS = BK / B_ROWS;              // 16-byte loads of a thread for a tile

struct Stage {
    float a[BK][LDA];  // A turned: a[k][row]
    float b[BK][BN];
};

// One thread's share of a tile on its way from global to shared memory.
struct Flight {
    float4 a[A_PARTS], b[B_PARTS];
};

// Where a thread's share of the next tile lies in global memory. Rows and columns past the end of a matrix are replaced
// by the last: what comes of them is never stored, and the loop need not ask.
struct Source {
    const float* a[A_PARTS];
    const float* b[B_PARTS];
    int a_k, b_k;    // first step of k in the tile
    int columns[4];  // of B, for the four floats of a part
    bool vectors;    // rows are 16-byte aligned

    // A tile all of whose steps of k exist.
    __device__ __forceinline__ void fetch(Flight& flight) const
    {
        if (vectors) {
#pragma unroll
            for (int i = 0; i < A_PARTS; ++i) flight.a[i] = *reinterpret_cast<const float4*>(a[i]);
#pragma unroll
            for (int i = 0; i < B_PARTS; ++i) flight.b[i] = *reinterpret_cast<const float4*>(b[i] + columns[0]);
        } else {
#pragma unroll
            for (int i = 0; i < A_PARTS; ++i) flight.a[i] = make_float4(a[i][0], a[i][1], a[i][2], a[i][3]);
#pragma unroll
            for (int i = 0; i < B_PARTS; ++i) {
                const float* p = b[i];
                flight.b[i] = make_float4(p[columns[0]], p[columns[1]], p[columns[2]], p[columns[3]]);
            }
        }
    }

    // The same where only `left` steps of k remain (none when it is 0 or less): the others are 0.
    __device__ __forceinline__ void fetch_last(Flight& flight, int left) const
    {
        const auto a_at = [&](int i, int j) { return a_k + j < left ? a[i][j] : 0.0f; };
        const auto b_at = [&](int i, int j) { return b_k + i * B_ROWS < left ? b[i][columns[j]] : 0.0f; };
#pragma unroll
        for (int i = 0; i < A_PARTS; ++i) flight.a[i] = make_float4(a_at(i, 0), a_at(i, 1), a_at(i, 2), a_at(i, 3));
#pragma unroll
        for (int i = 0; i < B_PARTS; ++i) flight.b[i] = make_float4(b_at(i, 0), b_at(i, 1), b_at(i, 2), b_at(i, 3));
    }

    __device__ __forceinline__ void advance(size_t N)
    {
#pragma unroll
        for (int i = 0; i < A_PARTS; ++i) a[i] += BK;
#pragma unroll
        for (int i = 0; i < B_PARTS; ++i) b[i] += BK * N;
    }
};

// What a thread multiplies in one step of k.
struct Fragment {
    float a[TM], b[TN];

    __device__ __forceinline__ void load(const Stage& stage, int k, int y, int x)
    {
#pragma unroll
        for (int i = 0; i < TM; i += 4) {
            *reinterpret_cast<float4*>(&a[i]) = *reinterpret_cast<const float4*>(&stage.a[k][y + DOWN * i]);
        }
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            *reinterpret_cast<float4*>(&b[j]) = *reinterpret_cast<const float4*>(&stage.b[k][x + ACROSS * j]);
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 1)
matmul_double_buffer(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                     int M, int N, int K)
{
    extern __shared__ __align__(16) unsigned char memory[];  // more than the 48 KB that a declared array may have
    Stage* stages = reinterpret_cast<Stage*>(memory);

    const int t = threadIdx.x;
    const int warp = t / 32, lane = t % 32;
    const int y = warp / (BN / WN) * WM + 4 * (lane / (2 * ACROSS) * 2 + lane % 2);  // first row of this thread
    const int x = warp % (BN / WN) * WN + 4 * (lane / 2 % ACROSS);                   // first column, inside the tile
    const int block_row = blockIdx.y * BM, block_column = blockIdx.x * BN;
    const int a_row = t / (BK / 4), a_k = 4 * (t % (BK / 4));
    const int b_k = t / (BN / 4), b_column = 4 * (t % (BN / 4));

    Source source;
    source.vectors = K % 4 == 0 && N % 4 == 0 && (((size_t)A | (size_t)B | (size_t)C) & 15) == 0;
    source.a_k = a_k;
    source.b_k = b_k;
#pragma unroll
    for (int i = 0; i < A_PARTS; ++i) {
        source.a[i] = A + (size_t)min(block_row + a_row + i * A_ROWS, M - 1) * K + a_k;
    }
#pragma unroll
    for (int i = 0; i < B_PARTS; ++i) source.b[i] = B + (size_t)(b_k + i * B_ROWS) * N;
    const int first_column = source.vectors ? min(block_column + b_column, N - 4) : block_column + b_column;
#pragma unroll
    for (int j = 0; j < 4; ++j) source.columns[j] = min(first_column + j, N - 1);

    const auto fetch = [&](Flight& flight, int start) {
        if (start + BK <= K) source.fetch(flight);
        else source.fetch_last(flight, K - start);
        source.advance(N);
    };
    const auto put = [&](Stage& stage, const Flight& flight) {
#pragma unroll
        for (int i = 0; i < A_PARTS; ++i) {
            const int row = a_row + i * A_ROWS;
            stage.a[a_k + 0][row] = flight.a[i].x;
            stage.a[a_k + 1][row] = flight.a[i].y;
            stage.a[a_k + 2][row] = flight.a[i].z;
            stage.a[a_k + 3][row] = flight.a[i].w;
        }
#pragma unroll
        for (int i = 0; i < B_PARTS; ++i) {
            *reinterpret_cast<float4*>(&stage.b[b_k + i * B_ROWS][b_column]) = flight.b[i];
        }
    };

    float sum[TM][TN] = {};
    Fragment fragments[2];
    Flight flight;
    fetch(flight, 0);
    put(stages[0], flight);
    __syncthreads();
    fragments[0].load(stages[0], 0, y, x);

    int current = 0;
#pragma unroll 1
    for (int start = 0; start < K; start += BK) {
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            if (k == FETCH) fetch(flight, start + BK);
            // Everyone left the other stage at the barrier of the tile before: it is free to be filled.
            if (k == PUT) put(stages[current ^ 1], flight);
            if (k + 1 < BK) {
                fragments[(k + 1) % 2].load(stages[current], k + 1, y, x);
            } else {
                __syncthreads();
                current ^= 1;
                fragments[0].load(stages[current], 0, y, x);
            }
            const Fragment& f = fragments[k % 2];
#pragma unroll
            for (int j = 0; j < TN; ++j) {
#pragma unroll
                for (int i = 0; i < TM; ++i) sum[i][j] += f.a[i] * f.b[j];
            }
        }
    }

#pragma unroll
    for (int i = 0; i < TM; ++i) {
        const int row = block_row + y + i / 4 * 4 * DOWN + i % 4;
        if (row >= M) continue;
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            const int column = block_column + x + j / 4 * 4 * ACROSS;
            float* p = C + (size_t)row * N + column;
            if (source.vectors) {
                const float4 v = make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
                if (column < N) *reinterpret_cast<float4*>(p) = v;
            } else {
#pragma unroll
                for (int c = 0; c < 4; ++c) {
                    if (column + c < N) p[c] = sum[i][j + c];
                }
            }
        }
    }
}
