// 07 tensor maps: one thread asks for a whole tile at a time, and the copy engine finds its way by itself.
//
// Moves: instructions. The 128 producers of 06 work out 3,072 addresses a stage; here one thread asks for five boxes:
//   128 rows of A and four panels of B, of 64 steps of k each. A box comes swizzled, with 0 outside the matrix, and
//   counts its own bytes on the stage's barrier.
// Mapping: as 06, but that of warpgroup 0 one thread works. A tensor map says what a box is cut from. As a parameter
//   only the host could make one: here each block writes its own, field by field into zeros in shared memory, and from
//   there into the place of its multiprocessor in global memory, where the copy engine wants it. Rows that do not begin
//   at multiples of 16 bytes have no map: their tiles are brought by all producers, half by half.
//
// entry: matmul_half_tensor_maps
// block: 384
// grid: min(SMS,ceil(N/256)*ceil(M/128))
// shared: 4*2*(128*64+64*256)
// needs: 9.0

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef BFLOAT16
#define TYPE "f16"
#define ELEMENT_TYPE "6"  // a tensor map's number for it
typedef __half Element;
typedef __half2 Pair;
__device__ __forceinline__ Pair pair(float left, float right) { return __floats2half2_rn(left, right); }
#else
#define TYPE "bf16"
#define ELEMENT_TYPE "10"
typedef __nv_bfloat16 Element;
typedef __nv_bfloat162 Pair;
__device__ __forceinline__ Pair pair(float left, float right) { return __floats2bfloat162_rn(left, right); }
#endif

constexpr int BM = 128, BN = 256;  // rows and columns of C per block
constexpr int BK = 64;             // steps of k per stage: a row of A is one line of 128 bytes
constexpr int STAGES = 4;
constexpr int PANEL = 64;          // columns of B in a line of 128 bytes

constexpr int CONSUMERS = 2;       // warpgroups that multiply
constexpr int PRODUCERS = 128;     // threads of the one that brings the tiles
constexpr int THREADS = PRODUCERS + 128 * CONSUMERS;
constexpr int ROWS_OF_TILES = 16;  // that are gone through together
constexpr int MOST_SMS = 256;

struct Stage {
    Element a[BM][BK];
    Element b[BN / PANEL][BK][PANEL];
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

__device__ __forceinline__ void arrive(Barrier* barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(barrier)) : "memory");
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
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
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

// Boxes of lines of 128 bytes, swizzled, from a matrix; all of a warp take part, and `to` is in global memory.
__device__ __forceinline__ void make(Map* to, Map& map, const Element* elements, int rows, int columns, int lines)
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
        SIZE("global_stride", "b64", "0", "l", 2ll * columns);
        SIZE("box_dim", "b32", "0", "r", PANEL);
        SIZE("box_dim", "b32", "1", "r", lines);
        SIZE("element_stride", "b32", "0", "r", 1);
        SIZE("element_stride", "b32", "1", "r", 1);
        FIELD("elemtype", "b32", ELEMENT_TYPE);
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

// Ask for the box of 64 columns from (row, column) on.
__device__ __forceinline__ void fetch_box(void* to, const Map* map, int row, int column, Barrier* barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];"
                 ::"r"(address(to)), "l"(map), "r"(column), "r"(row), "r"(address(barrier)) : "memory");
}

// -- tiles without a map ----------------------------------------------------------------------------------------------
struct Matrix {
    const Element* elements;
    int rows, columns;
};

// Chunk c (8 halves) of line r of 128 bytes, to place c ^ (r % 8); what lies outside the matrix is 0.
__device__ __forceinline__ void fetch8(Element* line, int r, int c, const Matrix& m, int row, int column)
{
    Element* to = line + (c ^ r % 8) * 8;
    const Element* p = m.elements + (size_t)row * m.columns + column;
#pragma unroll 1
    for (int j = 0; j < 8; ++j) to[j] = row < m.rows && column + j < m.columns ? p[j] : Element(0.0f);
}

// One producer's share of the tiles for BK steps of k from `start` on.
__device__ __forceinline__ void fetch(Stage& stage, const Matrix& A, const Matrix& B, int t, int2 at, int start)
{
#pragma unroll 1
    for (int e = t; e < BM * BK / 8; e += PRODUCERS) {
        const int r = e / (BK / 8), c = e % (BK / 8);
        fetch8(stage.a[r], r, c, A, at.x + r, start + c * 8);
    }
#pragma unroll 1
    for (int e = t; e < BK * BN / 8; e += PRODUCERS) {
        const int r = e / (BN / 8), c = e % (BN / 8);
        fetch8(stage.b[c / 8][r], r, c % 8, B, start + r, at.y + c * 8);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // threads put them there, wgmma reads them
}

// -- products ---------------------------------------------------------------------------------------------------------
// A tile under the 128-byte swizzle: the stride is the way to the next 8 lines of 128 bytes. For B, whose lines run
// along its columns, `panel` is the way to the next 64 of them. Both in units of 16 bytes.
__device__ __forceinline__ unsigned long long descriptor(const Element* tile, unsigned long long panel)
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
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32." TYPE "." TYPE " {"
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
__device__ __forceinline__ void store(const float (&c)[128], Element* C, int row, int column, int M, int N)
{
    const bool pairs = N % 2 == 0 && ((size_t)C & 3) == 0;
#pragma unroll
    for (int e = 0; e < 4; e += 2, row += 8) {
        if (row >= M) continue;
#pragma unroll
        for (int j = 0; j < BN / 8; ++j) {
            const int n = column + 8 * j;
            Element* p = C + (size_t)row * N + n;
            const Pair both = pair(c[4 * j + e], c[4 * j + e + 1]);
            if (pairs && n < N) *reinterpret_cast<Pair*>(p) = both;
            if (!pairs && n < N) p[0] = both.x;
            if (!pairs && n + 1 < N) p[1] = both.y;
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
matmul_half_tensor_maps(const Element* __restrict__ A, const Element* __restrict__ B, Element* __restrict__ C,
                        int M, int N, int K)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ Barrier full[STAGES], empty[STAGES];
    __shared__ Maps made;
    Stage* stages = reinterpret_cast<Stage*>(memory);
    const int t = threadIdx.x, group = t / 128 - 1, lane = t % 32, steps = (K + BK - 1) / BK;
    const Tiles tiles = {(M + BM - 1) / BM, (N + BN - 1) / BN};
    const int count = tiles.down * tiles.across;
    const bool mapped = K % 8 == 0 && N % 8 == 0 && (((size_t)A | (size_t)B) & 15) == 0;

    if (t < STAGES) init(&full[t], mapped ? 1 : PRODUCERS), init(&empty[t], CONSUMERS);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // the copy engine sees them
    __syncthreads();

    int turn = 0;  // stages that this thread has filled or multiplied: the place in the ring
    if (group < 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        const auto bring = [&](auto one_stage) {
            for (int tile = blockIdx.x; tile < count; tile += gridDim.x) {
                const int2 at = tiles.at(tile);
                for (int step = 0; step < steps; ++step, ++turn) {
                    if (turn >= STAGES) wait(&empty[turn % STAGES], turn / STAGES - 1 & 1);
                    one_stage(stages[turn % STAGES], &full[turn % STAGES], at, step * BK);
                }
            }
        };
        if (!mapped) {
            bring([&](Stage& stage, Barrier* there, int2 at, int start) {
                fetch(stage, {A, M, K}, {B, K, N}, t, at, start);
                arrive(there);
            });
        } else if (t < 32 && steps > 0) {
            unsigned int sm;
            asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
            Maps* mine = &maps[sm];
            make(&mine->a, made.a, A, M, K, BM);
            make(&mine->b, made.b, B, K, N, BK);
            if (t > 0) return;
            acquire(&mine->a), acquire(&mine->b);
            bring([&](Stage& stage, Barrier* there, int2 at, int start) {
                arrive_before(there, sizeof(Stage));
                fetch_box(stage.a, &mine->a, at.x, start, there);
#pragma unroll
                for (int p = 0; p < BN / PANEL; ++p) fetch_box(stage.b[p], &mine->b, start, at.y + p * PANEL, there);
            });
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    for (int tile = blockIdx.x; tile < count; tile += gridDim.x) {
        float c[128] = {};
        for (int step = 0; step < steps; ++step, ++turn) {
            wait(&full[turn % STAGES], turn / STAGES & 1);
            __syncwarp();  // the tensor cores want all lanes at once
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
