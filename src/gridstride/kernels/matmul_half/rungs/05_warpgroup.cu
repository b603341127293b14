// 05 warpgroup: four warps multiply 64x256 together, and the tensor cores read both tiles from shared memory.
//
// Moves: shared reads, to none: wgmma gets a descriptor of each tile, where ldmatrix went through registers. One does
//   the work of 64 mma, at the full rate of the tensor cores, of which mma.sync reaches less than two thirds.
// Mapping: 2 warpgroups for a 128x256 tile of C, 64 rows each; lane l of warp w has rows 16 w + l / 4 and 8 below it,
//   and of every 8 columns 2 (l % 4) and the next: 128 sums a thread. Tiles are lines of 128 bytes, A's along k, B's
//   along its columns in panels of 64; chunk c of line r lies at place c ^ (r % 8), as the descriptor's swizzle has it.
//   With a tensor map one thread could ask for a tile, but only the host can make one: all threads ask, by cp.async.
//
// entry: matmul_half_warpgroup
// block: 256
// grid: ceil(N/256) ceil(M/128)
// shared: 4*2*(128*64+64*256)
// needs: 9.0

#include <cuda_fp16.h>

constexpr int BM = 128, BN = 256;  // rows and columns of C per block
constexpr int BK = 64;             // steps of k per stage: a row of A is one line of 128 bytes
constexpr int STAGES = 4;
constexpr int PANEL = 64;          // columns of B in a line of 128 bytes

constexpr int FETCHERS = 256;      // threads that bring the tiles: all

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

// Ask for chunk c (8 halves) of line r of 128 bytes, to place c ^ (r % 8); what lies outside the matrix is 0.
__device__ __forceinline__ void fetch8(__half* line, int r, int c, const Matrix& m, int row, int column)
{
    __half* to = line + (c ^ r % 8) * 8;
    const __half* p = m.elements + (size_t)row * m.columns + column;
    if (m.vectors && row < m.rows && column < m.columns) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(to)), "l"(p) : "memory");
        return;
    }
#pragma unroll 1
    for (int j = 0; j < 8; ++j) to[j] = row < m.rows && column + j < m.columns ? p[j] : __half(0.0f);
}

// One thread's share, of FETCHERS, of the tiles for BK steps of k from `start` on.
__device__ __forceinline__ void fetch(Stage& stage, const Matrix& A, const Matrix& B, int t, int row, int column,
                                      int start)
{
#pragma unroll
    for (int i = 0; i < BM * BK / 8 / FETCHERS; ++i) {
        const int e = t + i * FETCHERS, r = e / (BK / 8), c = e % (BK / 8);
        fetch8(stage.a[r], r, c, A, row + r, start + c * 8);
    }
#pragma unroll
    for (int i = 0; i < BK * BN / 8 / FETCHERS; ++i) {
        const int e = t + i * FETCHERS, r = e / (BN / 8), c = e % (BN / 8);
        fetch8(stage.b[c / 8][r], r, c % 8, B, start + r, column + c * 8);
    }
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

extern "C" __global__ void __launch_bounds__(FETCHERS, 1)
matmul_half_warpgroup(const __half* __restrict__ A, const __half* __restrict__ B, __half* __restrict__ C,
                      int M, int N, int K)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Stage* stages = reinterpret_cast<Stage*>(memory);
    const int t = threadIdx.x, group = t / 128, lane = t % 32;
    const int row = blockIdx.y * BM, column = blockIdx.x * BN, steps = (K + BK - 1) / BK;
    const Matrix a = matrix(A, M, K), b = matrix(B, K, N);

    // Two stages are on their way, one is there, and one is still multiplied when the next product is begun.
    constexpr int AHEAD = STAGES - 2;
    const auto ask = [&](int step) {
        if (step < steps) fetch(stages[step % STAGES], a, b, t, row, column, step * BK);
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
#pragma unroll 1
    for (int step = 0; step < AHEAD; ++step) ask(step);
    float c[128] = {};
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // threads put tiles there, wgmma reads them
        __syncthreads();  // all of the stage is there, and all are through with the products of the last but one
        multiply_stage(c, stages[step % STAGES], group);
        ask(step + AHEAD);
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    store(c, C, row + t / 32 * 16 + lane / 4, column + lane % 4 * 2, M, N);
}
