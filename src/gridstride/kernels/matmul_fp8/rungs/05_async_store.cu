// 05 async store: a producer warp, consumers that never meet, clusters that share B, and stores by the copy engine.
//
// Moves: waiting. One warpgroup brings tiles and two multiply, each waiting for the stage that it needs and for no
//   other thread: while one adds its products to float32 the other's are on the tensor cores. Tiles for the next
//   piece of C are on their way meanwhile. Two blocks of a cluster share each tile of B, by multicast: L2 reads to 2/3.
//   Sums go through stmatrix and shared memory, and the copy engine stores them while the next tile is begun.
// Mapping: as 04, 2 consumer warpgroups for a 128x256 tile of C, two tiles one below the other for a cluster. Each
//   consumer has two boxes of 64x64 of C, in turn. Tiles without a map are brought by all producers, byte by byte; a C
//   without one is stored by the consumers themselves.
//
// entry: matmul_fp8_async_store
// block: 384
// grid: 2*min(max(1,SMS//2),ceil(N/256)*ceil(M/256))
// shared: 4*128*(128+256) + 2*2*2*64*64
// needs: 9.0

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#if __CUDA_ARCH__ >= 900
#define IN_CLUSTERS __cluster_dims__(2, 1, 1)
#else
#define IN_CLUSTERS
#endif
#ifndef FAST
#define FAST 0  // 1: all of K is added up by the tensor cores, in 14 bits
#endif
#ifndef BFLOAT16
#define OUT_TYPE "6"  // a tensor map's number for it
typedef __half Out;
typedef __half2 Pair;
__device__ __forceinline__ Pair pair(float left, float right) { return __floats2half2_rn(left, right); }
#else
#define OUT_TYPE "10"
typedef __nv_bfloat16 Out;
typedef __nv_bfloat162 Pair;
__device__ __forceinline__ Pair pair(float left, float right) { return __floats2bfloat162_rn(left, right); }
#endif

constexpr int BM = 128, BN = 256;  // rows and columns of C per block
constexpr int BK = 128;            // steps of k per stage: a line of 128 bytes
constexpr int STAGES = 4;
constexpr int PART = 128;          // columns of a product
constexpr int PARTS = BN / PART;
constexpr int PANEL = 64;          // columns of C in a line of 128 bytes

constexpr int CONSUMERS = 2;       // warpgroups that multiply
constexpr int FETCHERS = 128;      // threads of the one that brings the tiles
constexpr int THREADS = FETCHERS + 128 * CONSUMERS;
constexpr int BLOCKS = 2;          // of a cluster
constexpr int ROWS_OF_TILES = 8;   // of a cluster's, that are gone through together
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

// Arrives at the barrier in the same place of a block of the cluster.
__device__ __forceinline__ void arrive_at(Barrier* barrier, int block)
{
    asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there]; }"
                 ::"r"(address(barrier)), "r"(block) : "memory");
}

__device__ __forceinline__ void meet_cluster()
{
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
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
    Map a, b, c;
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
template <typename Element>
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
        SIZE("global_stride", "b64", "0", "l", (long long)sizeof(Element) * columns);
        SIZE("box_dim", "b32", "0", "r", (int)(128 / sizeof(Element)));
        SIZE("box_dim", "b32", "1", "r", lines);
        SIZE("element_stride", "b32", "0", "r", 1);
        SIZE("element_stride", "b32", "1", "r", 1);
        if (sizeof(Element) == 1) FIELD("elemtype", "b32", "0");  // bytes
        else FIELD("elemtype", "b32", OUT_TYPE);
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

// The same for the blocks of the cluster, to the same place in each, and on the same barrier of each.
__device__ __forceinline__ void fetch_shared_box(void* to, const Map* map, int row, int k, Barrier* barrier)
{
    const unsigned short all = (1 << BLOCKS) - 1;
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3}], [%4], %5;"
                 ::"r"(address(to)), "l"(map), "r"(k), "r"(row), "r"(address(barrier)), "h"(all) : "memory");
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

// A thread's sums, 2 columns of 8 side by side, scaled, in 16 bits: for a C without a map.
__device__ __forceinline__ void store(const float (&sum)[PARTS][64], const Scales& scales, Out* C, int row, int column,
                                      int M, int N)
{
#pragma unroll
    for (int i = 0; i < PARTS * 64; ++i) {
        const int m = row + i % 4 / 2 * 8, n = column + i / 4 * 8 + i % 2;
        const float scaled = scales.of_row(m) * scales.of_column(n) * sum[i / 64][i % 64];
        if (m < M && n < N) C[(size_t)m * N + n] = Out(scaled);
    }
}

typedef Out Box[64][PANEL];

// A warpgroup's sums through its two boxes; a row of 8 results lies at place c ^ (r % 8), as the map's swizzle has it.
__device__ __forceinline__ void store_boxes(const float (&sum)[PARTS][64], const Scales& scales, Box* boxes,
                                            const Map* map, int group, int row, int column)
{
    const int t = threadIdx.x % 128, lane = t % 32, line = t / 32 * 16 + lane % 16;
    const int upper_row = row + t / 32 * 16 + lane / 4;
    const float upper = scales.of_row(upper_row), lower = scales.of_row(upper_row + 8);
#pragma unroll
    for (int p = 0; p < BN / PANEL; ++p) {
        Box& box = boxes[p % 2];
        if (t == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");  // the last but one has been read
        asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
#pragma unroll
        for (int j = 0; j < PANEL / 8; j += 2) {
            const int eighth = p * PANEL / 8 + j;
            const float* s = &sum[eighth / (PART / 8)][4 * (eighth % (PART / 8))];
            Pair pairs[4];
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const int n = column + 8 * (eighth + h) + lane % 4 * 2;
                const float left = scales.of_column(n), right = scales.of_column(n + 1);
                pairs[2 * h] = pair(upper * left * s[4 * h], upper * right * s[4 * h + 1]);
                pairs[2 * h + 1] = pair(lower * left * s[4 * h + 2], lower * right * s[4 * h + 3]);
            }
            unsigned int words[4];
            memcpy(words, pairs, sizeof words);
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                         ::"r"(address(&box[line][((j + lane / 16) ^ line % 8) * 8])),
                         "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]) : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // threads put it there, the copy engine reads it
        asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
        if (t > 0) continue;
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                     ::"l"(map), "r"(column + p * PANEL), "r"(row), "r"(address(box)) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
}

// -- tiles of C -------------------------------------------------------------------------------------------------------
struct Tiles {
    int down, across;  // of a cluster: BLOCKS one below the other

    // First row and column of a tile: down a column of ROWS_OF_TILES first, then the next column of them.
    __device__ __forceinline__ int2 at(int tile, int block) const
    {
        const int band = tile / (ROWS_OF_TILES * across), first = band * ROWS_OF_TILES;
        const int rows = min(ROWS_OF_TILES, down - first), inside = tile - first * across;
        return make_int2(((first + inside % rows) * BLOCKS + block) * BM, inside / rows * BN);
    }
};

extern "C" __global__ void IN_CLUSTERS __launch_bounds__(THREADS, 1)
matmul_fp8_async_store(const __nv_fp8_e4m3* __restrict__ A, const __nv_fp8_e4m3* __restrict__ B,
                       const float* __restrict__ scale_a, const float* __restrict__ scale_b, Out* __restrict__ C,
                       int M, int N, int K)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ Barrier full[STAGES], empty[STAGES];
    __shared__ Maps made;
    Stage* stages = reinterpret_cast<Stage*>(memory);
    const int t = threadIdx.x, group = t / 128 - 1, lane = t % 32, steps = (K + BK - 1) / BK;
    const int block = blockIdx.x % BLOCKS, cluster = blockIdx.x / BLOCKS, clusters = gridDim.x / BLOCKS;
    const Tiles tiles = {(M + BLOCKS * BM - 1) / (BLOCKS * BM), (N + BN - 1) / BN};
    const int count = tiles.down * tiles.across;
    const bool mapped = K % 16 == 0 && (((size_t)A | (size_t)B) & 15) == 0 && K > 0;
    const bool boxed = N % 8 == 0 && ((size_t)C & 15) == 0;
    unsigned int sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    Maps* mine = &maps[sm];
    Box* boxes = reinterpret_cast<Box*>(stages + STAGES) + 2 * max(group, 0);

    if (t < STAGES) init(&full[t], mapped ? 1 : FETCHERS), init(&empty[t], mapped ? BLOCKS * CONSUMERS : CONSUMERS);
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
    if (mapped && t < 32) {
        make(&mine->a, made.a, reinterpret_cast<const Code*>(A), M, K, BM);
        make(&mine->b, made.b, reinterpret_cast<const Code*>(B), N, K, BN / BLOCKS);
    }
    if (boxed && t < 32) make(&mine->c, made.c, C, M, N, 64);
    __syncthreads();
    meet_cluster();

    int turn = 0;  // stages that this thread has filled or multiplied: the place in the ring
    if (group < 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        const auto bring = [&](auto one_stage) {
            for (int tile = cluster; tile < count; tile += clusters) {
                const int2 at = tiles.at(tile, block);
                for (int step = 0; step < steps; ++step, ++turn) {
                    if (turn >= STAGES) wait(&empty[turn % STAGES], turn / STAGES - 1 & 1);
                    one_stage(stages[turn % STAGES], &full[turn % STAGES], at, step * BK);
                }
            }
        };
        if (!mapped) {
            bring([&](Stage& stage, Barrier* there, int2 at, int start) {
                fetch(stage.a, {reinterpret_cast<const Code*>(A), M, K}, t, at.x, start);
                fetch(stage.b, {reinterpret_cast<const Code*>(B), N, K}, t, at.y, start);
                arrive(there);
            });
        } else if (t == 0) {
            acquire(&mine->a), acquire(&mine->b);
            bring([&](Stage& stage, Barrier* there, int2 at, int start) {
                const int share = block * (BN / BLOCKS);  // of B's rows, that this block brings to all
                arrive_before(there, sizeof(Stage));
                fetch_box(stage.a, &mine->a, at.x, start, there);
                fetch_shared_box(stage.b[share], &mine->b, at.y + share, start, there);
            });
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    if (boxed && t % 128 == 0) acquire(&mine->c);
    const Scales scales = {scale_a, scale_b, M, N};
    for (int tile = cluster; tile < count; tile += clusters) {
        float sum[PARTS][64] = {}, part[64] = {};
#pragma unroll 1
        for (int step = 0; step < steps; ++step, ++turn) {
            wait(&full[turn % STAGES], turn / STAGES & 1);
            __syncwarp();  // the tensor cores want all lanes at once
            multiply_stage(sum, part, stages[turn % STAGES], group);
            if (mapped && t % 128 < BLOCKS) arrive_at(&empty[turn % STAGES], t % 128);
            if (!mapped && t % 128 == 0) arrive(&empty[turn % STAGES]);
        }
        const int2 at = tiles.at(tile, block);
        if (boxed) {
            store_boxes(sum, scales, boxes, &mine->c, group, at.x + group * 64, at.y);
            continue;
        }
        store(sum, scales, C, at.x + group * 64 + t % 128 / 32 * 16 + lane / 4, at.y + lane % 4 * 2, M, N);
    }
    if (t % 128 == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    meet_cluster();
}
