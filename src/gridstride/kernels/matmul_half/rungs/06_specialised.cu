// 06 specialised: one warpgroup only brings tiles, two only multiply, and a block goes on from tile to tile of C.
//
// Moves: waiting. No barrier of the block is left in the loop: a stage has an mbarrier on which it is full and one on
//   which it is empty, so that the producers run ahead as far as the ring allows, into the next tile of C while sums
//   are stored. The consumers take the producers' registers. Blocks work on 8 rows of tiles at a time, so that what
//   they read is in the L2 cache.
// Mapping: 384 threads; warpgroup 0 brings the tiles for 128x256 of C, warpgroups 1 and 2 multiply 64 rows each, as in
//   05. No more blocks than multiprocessors: block b has tiles b, b + gridDim.x and so on.
//
// entry: matmul_half_specialised
// block: 384
// grid: min(SMS,ceil(N/256)*ceil(M/128))
// shared: 4*2*(128*64+64*256)
// needs: 9.0

#include <cuda_fp16.h>

constexpr int BM = 128, BN = 256;  // rows and columns of C per block
constexpr int BK = 64;             // steps of k per stage: a row of A is one line of 128 bytes
constexpr int STAGES = 4;
constexpr int PANEL = 64;          // columns of B in a line of 128 bytes

constexpr int CONSUMERS = 2;       // warpgroups that multiply
constexpr int FETCHERS = 128;      // threads that bring the tiles
constexpr int THREADS = FETCHERS + 128 * CONSUMERS;
constexpr int ROWS_OF_TILES = 8;   // that are gone through together

struct Stage {
    __half a[BM][BK];
    __half b[BN / PANEL][BK][PANEL];
};

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

// -- copies -----------------------------------------------------------------------------------------------------------
struct Matrix {
    const __half* elements;
    int rows, columns;
    bool vectors;  // rows are 16-byte aligned
};

__device__ __forceinline__ Matrix matrix(const __half* elements, int rows, int columns)
{
    return {elements, rows, columns, columns % 8 == 0 && ((size_t)elements & 15) == 0};
}

// One thread's share of LINES rows of 64 columns, from (row, column) on: chunk c (8 halves) of every 16th row, to place
// c ^ (r % 8) of its line of 128 bytes. The places are at fixed distances from the first. What lies outside is 0.
template <int LINES>
__device__ __forceinline__ void fetch_panel(__half (*panel)[PANEL], const Matrix& m, int t, int row, int column)
{
    constexpr int EVERY = FETCHERS * 8 / PANEL;
    const int r = t / 8, c = t % 8;
    __half* to = panel[r] + (c ^ r % 8) * 8;
    const __half* from = m.elements + (size_t)(row + r) * m.columns + column + c * 8;
    const int rows = m.rows - row - r, columns = m.columns - column - c * 8;
    if (m.vectors) {
#pragma unroll
        for (int i = 0; i < LINES; i += EVERY) {
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                         ::"r"(address(to + i * PANEL)), "l"(from + (size_t)i * m.columns),
                         "r"(i < rows && columns > 0 ? 16 : 0) : "memory");
        }
        return;
    }
#pragma unroll 1
    for (int i = 0; i < LINES; i += EVERY) {
#pragma unroll 1
        for (int j = 0; j < 8; ++j)
            to[i * PANEL + j] = i < rows && j < columns ? from[(size_t)i * m.columns + j] : __half(0.0f);
    }
}

// One thread's share, of FETCHERS, of the tiles for BK steps of k from `start` on.
__device__ __forceinline__ void fetch(Stage& stage, const Matrix& A, const Matrix& B, int t, int row, int column,
                                      int start)
{
    fetch_panel<BM>(stage.a, A, t, row, start);
#pragma unroll
    for (int p = 0; p < BN / PANEL; ++p) fetch_panel<BK>(stage.b[p], B, t, start, column + p * PANEL);
}

// -- barriers ---------------------------------------------------------------------------------------------------------
typedef unsigned long long Barrier;

__device__ __forceinline__ void init(Barrier* barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(barrier)), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void arrive(Barrier* barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(barrier)) : "memory");
}

__device__ __forceinline__ void wait(Barrier* barrier, int parity)
{
    unsigned int done;
    do {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(address(barrier)), "r"(parity) : "memory");
    } while (!done);
    __syncwarp();  // the tensor cores want all lanes at once
}

// -- products ---------------------------------------------------------------------------------------------------------
// A tile under the 128-byte swizzle: the stride is the way to the next 8 lines of 128 bytes. For B, whose lines run
// along its columns, `panel` is the way to the next 64 of them. Both in units of 16 bytes.
__device__ __forceinline__ unsigned long long descriptor(const __half* tile, unsigned long long panel)
{
    constexpr unsigned long long stride = 1024 / 16, swizzle = 1ull << 62;
    return (address(tile) & 0x3ffff) >> 4 | panel << 16 | stride << 32 | swizzle;
}

#define F8(i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]), \
              "+f"(c[i + 6]), "+f"(c[i + 7])
#define F64(i) F8(i), F8(i + 8), F8(i + 16), F8(i + 24), F8(i + 32), F8(i + 40), F8(i + 48), F8(i + 56)

// Adds 64 rows of A by 16 steps of k times 256 columns of B to c; it has happened behind the wait.
__device__ __forceinline__ void multiply(float (&c)[128], unsigned long long a, unsigned long long b)
{
    asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
                 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
                 "}, %128, %129, p, 1, 1, 0, 1; }"
                 : F64(0), F64(64)
                 : "l"(a), "l"(b)
                 : "memory");
}

// A warpgroup's 64 rows times all columns, for the steps of k of a stage, as one group that is not waited for.
__device__ __forceinline__ void multiply_stage(float (&c)[128], const Stage& stage, int group)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
        const unsigned long long a = descriptor(&stage.a[64 * group][k], 1);
        multiply(c, a, descriptor(stage.b[0][k], sizeof(stage.b[0]) / 16));
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// A thread's sums, 2 columns of 8 side by side, as halves.
__device__ __forceinline__ void store(const float (&c)[128], __half* C, int row, int column, int M, int N)
{
    const bool pairs = N % 2 == 0 && ((size_t)C & 3) == 0;
#pragma unroll
    for (int e = 0; e < 4; e += 2, row += 8) {
        if (row >= M) continue;
#pragma unroll
        for (int j = 0; j < BN / 8; ++j) {
            const int n = column + 8 * j;
            __half* p = C + (size_t)row * N + n;
            const float left = c[4 * j + e], right = c[4 * j + e + 1];
            if (pairs && n < N) *reinterpret_cast<__half2*>(p) = __floats2half2_rn(left, right);
            if (!pairs && n < N) p[0] = __float2half(left);
            if (!pairs && n + 1 < N) p[1] = __float2half(right);
        }
    }
}

// -- tiles of C -------------------------------------------------------------------------------------------------------
struct Tiles {
    int down, across;

    // First row and column of a tile: down a column of ROWS_OF_TILES first, then the next column of them.
    __device__ __forceinline__ int2 at(int tile) const
    {
        const int band = tile / (ROWS_OF_TILES * across), first = band * ROWS_OF_TILES;
        const int rows = min(ROWS_OF_TILES, down - first), inside = tile - first * across;
        return make_int2((first + inside % rows) * BM, inside / rows * BN);
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 1)
matmul_half_specialised(const __half* __restrict__ A, const __half* __restrict__ B, __half* __restrict__ C,
                        int M, int N, int K)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ Barrier full[STAGES], empty[STAGES];
    Stage* stages = reinterpret_cast<Stage*>(memory);
    const int t = threadIdx.x, group = t / 128 - 1, lane = t % 32, steps = (K + BK - 1) / BK;
    const Tiles tiles = {(M + BM - 1) / BM, (N + BN - 1) / BN};
    const int count = tiles.down * tiles.across;

    if (t < STAGES) init(&full[t], FETCHERS), init(&empty[t], CONSUMERS);
    __syncthreads();

    int turn = 0;  // stages that this thread has filled or multiplied: the place in the ring
    if (group < 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        const Matrix a = matrix(A, M, K), b = matrix(B, K, N);
        constexpr int BEHIND = 2;  // stages asked for after the one that is known to be there
        const auto pass_on = [&](int which) {
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // threads put tiles there, wgmma reads them
            arrive(&full[which % STAGES]);
        };
        for (int tile = blockIdx.x; tile < count; tile += gridDim.x) {
            const int2 at = tiles.at(tile);
            for (int step = 0; step < steps; ++step, ++turn) {
                if (turn >= STAGES) wait(&empty[turn % STAGES], turn / STAGES - 1 & 1);
                fetch(stages[turn % STAGES], a, b, t, at.x, at.y, step * BK);
                asm volatile("cp.async.commit_group;\ncp.async.wait_group %0;" ::"n"(BEHIND) : "memory");
                if (turn >= BEHIND) pass_on(turn - BEHIND);
            }
        }
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        for (int which = max(0, turn - BEHIND); which < turn; ++which) pass_on(which);
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    for (int tile = blockIdx.x; tile < count; tile += gridDim.x) {
        float c[128] = {};
        for (int step = 0; step < steps; ++step, ++turn) {
            wait(&full[turn % STAGES], turn / STAGES & 1);
            multiply_stage(c, stages[turn % STAGES], group);
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            if (step > 0 && t % 128 == 0) arrive(&empty[(turn - 1) % STAGES]);  // the products before are made
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        if (steps > 0 && t % 128 == 0) arrive(&empty[(turn - 1) % STAGES]);
        const int2 at = tiles.at(tile);
        store(c, C, at.x + group * 64 + t % 128 / 32 * 16 + lane / 4, at.y + lane % 4 * 2, M, N);
    }
}
