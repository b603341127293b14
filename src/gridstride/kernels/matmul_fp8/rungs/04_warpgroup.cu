// 04 warpgroup: four warps multiply 64x128 together, from tiles that the copy engine brings and the tensor cores read.
//
// Moves: shared reads and conversions, to none: wgmma takes 8-bit values as they are, from shared memory, at twice the
//   rate of halves; and the threads' copies to none: one thread asks for a tile of A and one of B for 128 steps of k.
//   The tensor cores keep 14 bits of a sum of 8-bit products: every 128 of K the threads add what is there to float32.
// Mapping: 2 warpgroups for a 128x256 tile of C, 64 rows each; lane l of warp w has rows 16 w + l / 4 and 8 below it,
//   and of every 8 columns 2 (l % 4) and the next: 128 sums a thread, and 64 of the product that is being made. Tiles
//   are lines of 128 bytes along k, swizzled. Each block writes its tensor maps itself, field by field into zeros, as
//   matmul_half's 07 does. Rows that do not begin at multiples of 16 bytes have no map: threads bring them.
//
// entry: matmul_fp8_warpgroup
// block: 256
// grid: min(SMS,ceil(N/256)*ceil(M/128))
// shared: 4*128*(128+256)
// needs: 9.0

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#ifndef FAST
#define FAST 0  // 1: all of K is added up by the tensor cores, in 14 bits
#endif
#ifndef BFLOAT16
typedef __half Out;
typedef __half2 Pair;
__device__ __forceinline__ Pair pair(float left, float right) { return __floats2half2_rn(left, right); }
#else
typedef __nv_bfloat16 Out;
typedef __nv_bfloat162 Pair;
__device__ __forceinline__ Pair pair(float left, float right) { return __floats2bfloat162_rn(left, right); }
#endif

constexpr int BM = 128, BN = 256;  // rows and columns of C per block
constexpr int BK = 128;            // steps of k per stage: a line of 128 bytes
constexpr int STAGES = 4;
constexpr int PART = 128;          // columns of a product
constexpr int PARTS = BN / PART;

constexpr int FETCHERS = 256;      // threads that bring tiles without a map: all
constexpr int MOST_SMS = 256;

typedef unsigned char Code;  // of e4m3

struct Stage {
    Code a[BM][BK];
    Code b[BN][BK];
};

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

// -- barriers ---------------------------------------------------------------------------------------------------------
typedef unsigned long long Barrier;

__device__ __forceinline__ void init(Barrier* barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(barrier)), "r"(arrivals) : "memory");
}

// Arrives, and says that `bytes` are on their way to the barrier's stage.
__device__ __forceinline__ void arrive_before(Barrier* barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 ::"r"(address(barrier)), "r"(bytes) : "memory");
}

__device__ __forceinline__ void wait(Barrier* barrier, int parity)
{
    unsigned int done;
    do {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            "selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(address(barrier)), "r"(parity) : "memory");
    } while (!done);
}

// -- tensor maps ------------------------------------------------------------------------------------------------------
struct __align__(128) Map {
    unsigned int words[32];
};

struct Maps {
    Map a, b;
};

// Of the block that a multiprocessor has: there is room for one. By the block's number, two launches at once, on
// different streams, would get each other's.
__device__ Maps maps[MOST_SMS];

#define FIELD(name, type, value) \
    asm volatile("tensormap.replace.tile." name ".shared::cta.b1024." type " [%0], " value ";" \
                 ::"r"(address(&map)) : "memory")
#define SIZE(name, type, index, constraint, value) \
    asm volatile("tensormap.replace.tile." name ".shared::cta.b1024." type " [%0], " index ", %1;" \
                 ::"r"(address(&map)), constraint(value) : "memory")

// Boxes of lines of 128 bytes, swizzled, from a matrix of bytes; all of a warp take part, and `to` is in global memory.
__device__ __forceinline__ void make(Map* to, Map& map, const void* elements, int rows, int columns, int lines)
{
    const int lane = threadIdx.x % 32;
    map.words[lane] = 0;
    __syncwarp();
    if (lane == 0) {
        asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;"
                     ::"r"(address(&map)), "l"(elements) : "memory");
        FIELD("rank", "b32", "1");  // one less than there are
        SIZE("global_dim", "b32", "0", "r", columns);
        SIZE("global_dim", "b32", "1", "r", rows);
        SIZE("global_stride", "b64", "0", "l", (long long)columns);
        SIZE("box_dim", "b32", "0", "r", BK);
        SIZE("box_dim", "b32", "1", "r", lines);
        SIZE("element_stride", "b32", "0", "r", 1);
        SIZE("element_stride", "b32", "1", "r", 1);
        FIELD("elemtype", "b32", "0");  // bytes
        FIELD("interleave_layout", "b32", "0");
        FIELD("swizzle_mode", "b32", "3");  // 128 bytes
        FIELD("fill_mode", "b32", "0");
    }
    __syncwarp();
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
                 "[%0], [%1], 128;"
                 ::"l"(to), "r"(address(&map)) : "memory");
}

__device__ __forceinline__ void acquire(const Map* map)
{
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

// Ask for the box of BK steps of k from (row, k) on.
__device__ __forceinline__ void fetch_box(void* to, const Map* map, int row, int k, Barrier* barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];"
                 ::"r"(address(to)), "l"(map), "r"(k), "r"(row), "r"(address(barrier)) : "memory");
}

// -- tiles without a map ----------------------------------------------------------------------------------------------
struct Matrix {
    const Code* codes;
    int rows, columns;
};

// One thread's share, of FETCHERS, of a tile for BK steps of k from `start` on, byte by byte; outside the matrix is 0.
// 16 bytes of a line of 128 are a chunk: chunk c of line r goes to place c ^ (r % 8).
template <int LINES>
__device__ __forceinline__ void fetch(Code (&tile)[LINES][BK], const Matrix& m, int t, int row, int start)
{
#pragma unroll 1
    for (int e = t; e < LINES * BK; e += FETCHERS) {
        const int r = e / BK, k = e % BK, i = row + r;
        const bool inside = i < m.rows && start + k < m.columns;
        tile[r][(k / 16 ^ r % 8) * 16 + k % 16] = inside ? m.codes[(size_t)i * m.columns + start + k] : 0;
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // threads put it there, wgmma reads it
}

// -- products ---------------------------------------------------------------------------------------------------------
// A tile of lines of 128 bytes along k under the 128-byte swizzle: the stride is the way to the next 8 lines, in units
// of 16 bytes.
__device__ __forceinline__ unsigned long long descriptor(const Code* tile)
{
    constexpr unsigned long long stride = 1024 / 16, swizzle = 1ull << 62;
    return (address(tile) & 0x3ffff) >> 4 | 1ull << 16 | stride << 32 | swizzle;
}

#define F8(i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]), \
              "+f"(c[i + 6]), "+f"(c[i + 7])

// Adds 64 rows of A by 32 steps of k times 128 columns to c, or puts the product there: it has, behind the wait.
__device__ __forceinline__ void multiply(float (&c)[64], unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
                 "}, %64, %65, p, 1, 1; }"
                 : F8(0), F8(8), F8(16), F8(24), F8(32), F8(40), F8(48), F8(56)
                 : "l"(a), "l"(b), "r"(add)
                 : "memory");
}

// A warpgroup's 64 rows times all columns, for the steps of k of a stage: 128 columns at a time, made apart by the
// tensor cores, which would keep 14 bits of all of K, and added in float32.
__device__ __forceinline__ void multiply_stage(float (&sum)[PARTS][64], float (&part)[64], const Stage& stage,
                                               int group)
{
#pragma unroll
    for (int p = 0; p < PARTS; ++p) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int k = 0; k < BK; k += 32) {
            const unsigned long long a = descriptor(&stage.a[64 * group][k]), b = descriptor(&stage.b[PART * p][k]);
            if (FAST) multiply(sum[p], a, b, 1);
            else multiply(part, a, b, k > 0);
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        if (FAST && p < PARTS - 1) continue;
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
        for (int i = 0; i < 64 && !FAST; ++i) sum[p][i] += part[i];
    }
}

// -- results ----------------------------------------------------------------------------------------------------------
struct Scales {
    const float *a, *b;
    int rows, columns;

    // What lies outside the matrix gets the last one's, and is stored nowhere.
    __device__ __forceinline__ float of_row(int i) const { return __ldg(a + min(i, rows - 1)); }
    __device__ __forceinline__ float of_column(int j) const { return __ldg(b + min(j, columns - 1)); }
};

// A thread's sums, 2 columns of 8 side by side, scaled, in 16 bits.
__device__ __forceinline__ void store(const float (&sum)[PARTS][64], const Scales& scales, Out* C, int row, int column,
                                      int M, int N)
{
    const bool pairs = N % 2 == 0 && ((size_t)C & 3) == 0;
    const float upper = scales.of_row(row), lower = scales.of_row(row + 8);
#pragma unroll
    for (int j = 0; j < BN / 8; ++j) {
        const int n = column + 8 * j;
        const float left = scales.of_column(n), right = scales.of_column(n + 1);
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            const float* s = &sum[j / (PART / 8)][4 * (j % (PART / 8)) + 2 * e];
            const float scale = e ? lower : upper;
            const Pair both = pair(scale * left * s[0], scale * right * s[1]);
            const int m = row + 8 * e;
            Out* p = C + (size_t)m * N + n;
            if (m >= M || n >= N) continue;
            if (pairs) *reinterpret_cast<Pair*>(p) = both;
            if (!pairs) p[0] = both.x;
            if (!pairs && n + 1 < N) p[1] = both.y;
        }
    }
}

extern "C" __global__ void __launch_bounds__(FETCHERS, 1)
matmul_fp8_warpgroup(const __nv_fp8_e4m3* __restrict__ A, const __nv_fp8_e4m3* __restrict__ B,
                     const float* __restrict__ scale_a, const float* __restrict__ scale_b, Out* __restrict__ C,
                     int M, int N, int K)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ Barrier full[STAGES];
    __shared__ Maps made;
    Stage* stages = reinterpret_cast<Stage*>(memory);
    const int t = threadIdx.x, group = t / 128, lane = t % 32, steps = (K + BK - 1) / BK;
    const int across = (N + BN - 1) / BN, count = (M + BM - 1) / BM * across;
    const bool mapped = K % 16 == 0 && (((size_t)A | (size_t)B) & 15) == 0 && K > 0;
    const Matrix a = {reinterpret_cast<const Code*>(A), M, K}, b = {reinterpret_cast<const Code*>(B), N, K};
    unsigned int sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    Maps* mine = &maps[sm];

    if (t < STAGES) init(&full[t], 1);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // the copy engine sees them
    if (mapped && t < 32) {
        make(&mine->a, made.a, A, M, K, BM);
        make(&mine->b, made.b, B, N, K, BN);
    }
    if (mapped && t == 0) acquire(&mine->a), acquire(&mine->b);
    __syncthreads();

    int turn = 0;  // stages that have been multiplied: the place in the ring
    for (int tile = blockIdx.x; tile < count; tile += gridDim.x) {
        const int row = tile / across * BM, column = tile % across * BN;
        const auto ask = [&](int step, int place) {  // one thread, for the stage that all have left
            if (step >= steps) return;
            arrive_before(&full[place % STAGES], sizeof(Stage));
            fetch_box(stages[place % STAGES].a, &mine->a, row, step * BK, &full[place % STAGES]);
            fetch_box(stages[place % STAGES].b, &mine->b, column, step * BK, &full[place % STAGES]);
        };
        for (int step = 0; step < STAGES && mapped && t == 0; ++step) ask(step, turn + step);
        float sum[PARTS][64] = {}, part[64] = {};
#pragma unroll 1
        for (int step = 0; step < steps; ++step, ++turn) {
            Stage& stage = stages[turn % STAGES];
            if (mapped) {
                wait(&full[turn % STAGES], turn / STAGES & 1);
                __syncwarp();  // the tensor cores want all lanes at once
            } else {
                fetch(stage.a, a, t, row, step * BK);
                fetch(stage.b, b, t, column, step * BK);
                __syncthreads();
            }
            multiply_stage(sum, part, stage, group);
            __syncthreads();  // all products of the stage are made
            if (mapped && t == 0) ask(step + STAGES, turn + STAGES);
        }
        const Scales scales = {scale_a, scale_b, M, N};
        store(sum, scales, C, row + t / 32 * 16 + lane / 4, column + lane % 4 * 2, M, N);
    }
}
