// 04 warpgroup: wgmma reads its right sides from shared memory by itself, and the copy engine adds dQ to memory.
//
// Moves: instructions; shared reads, to almost none. A product is asked for before the one in front is done: dP runs
//   beside the exponentials, dV beside the slopes, dK beside the end of dQ and the next scores.
// Mapping: two warpgroups of 64 keys each, tiles of 64 queries. Warp w of a group has 16 of its keys and, of dQ, 16
//   queries and the group's half of the columns: these go into 16 lines of the warp's own, which lanes 0 to 15 add to
//   memory by a bulk reduction each. Tiles have lines of 128 bytes under the 128-byte swizzle.
//
// entry: attention_backward_warpgroup
// block: 256
// grid: ceil(K/128)*H
// shared: 2*(2*128*128+2*2*64*128+128*64)+2*8*64+4*8*16*(64+8)
// needs: 9.0

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef HEAD_WIDTH
#define HEAD_WIDTH 128
#endif
#ifndef BFLOAT16
#define TYPE "f16"
typedef __half Element;
#else
#define TYPE "bf16"
typedef __nv_bfloat16 Element;
#endif

constexpr int STAGES = 2;           // of queries and their slopes
constexpr int BULK = 1;             // dQ is added to memory by the copy engine; 0: by red.global, 8 bytes a lane
constexpr int D = HEAD_WIDTH;
constexpr int GROUPS = 2;           // warpgroups
constexpr int THREADS = 128 * GROUPS;
constexpr int KEYS = 64 * GROUPS;   // of a block
constexpr int QUERIES = 64;         // of a tile
constexpr int PANEL = 64;           // elements of a line of 128 bytes
constexpr int PANELS = D / PANEL;
constexpr int CHUNKS = D / 8;       // of 16 bytes, of a row
constexpr int HALF = D / GROUPS;    // columns of dQ of a warpgroup
constexpr int LINE = HALF + 8;      // floats of a line of dQ; eight more, so that four rows lie in different banks
constexpr float LOG2_E = 1.44269504f;

template <int HEIGHT>
struct Tile {
    Element line[PANELS][HEIGHT][PANEL];
};

struct Memory {
    Tile<KEYS> k, v;
    Tile<QUERIES> q[STAGES], dout[STAGES];
    Element ds[KEYS][QUERIES];  // a line for each key: dS turned
    float lse[STAGES][QUERIES], delta[STAGES][QUERIES];
    float dq[THREADS / 32][16][LINE];
};

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

// -- copies -----------------------------------------------------------------------------------------------------------
// This thread's share of the rows from `first` on; beyond the last one zeros.
template <int HEIGHT>
__device__ __forceinline__ void fetch(Tile<HEIGHT>& tile, const Element* from, int first, int rows)
{
    constexpr int STEP = THREADS / CHUNKS;  // rows that are asked for at a time, a multiple of 8
    const int r = threadIdx.x / CHUNKS, c = threadIdx.x % CHUNKS;
    const unsigned int to = address(&tile.line[c / 8][r][(c % 8 ^ r % 8) * 8]);
    from += (size_t)(first + r) * D + c * 8;
#pragma unroll
    for (int i = 0; i < HEIGHT; i += STEP) {
        const int there = first + r + i < rows;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     ::"r"(to + i * 128), "l"(there ? from + i * D : from - (size_t)(first + r) * D), "r"(16 * there)
                     : "memory");
    }
}

__device__ __forceinline__ void fetch_number(float* to, const float* from, int i, int count)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 ::"r"(address(to)), "l"(from + (i < count ? i : 0)), "r"(i < count ? 4 : 0) : "memory");
}

// What threads have written to shared memory is there for the tensor cores and the copy engine.
__device__ __forceinline__ void fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// -- products ---------------------------------------------------------------------------------------------------------
// A tile under the 128-byte swizzle: the stride is the way to the next 8 lines of 128 bytes. Where the lines run along
// rows or columns of the product, not along its sum, `panel` is the way to the next 64 of them. In units of 16 bytes.
__device__ __forceinline__ unsigned long long descriptor(const Element* tile, unsigned long long panel)
{
    constexpr unsigned long long stride = 1024 / 16, swizzle = 1ull << 62;
    return (address(tile) & 0x3ffff) >> 4 | panel << 16 | stride << 32 | swizzle;
}

#define F8(c, i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]), \
                 "+f"(c[i + 6]), "+f"(c[i + 7])
#define F16(c, i) F8(c, i), F8(c, i + 8)
#define F32(c, i) F16(c, i), F16(c, i + 16)
#define N16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define N32 N16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define N64 N32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
            "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

// 64 rows times 64 (32) columns on top of c where `add`. TURNED: both sides' lines run along rows and columns.
template <int TURNED>
__device__ __forceinline__ void multiply(float (&c)[32], unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " {" N32 "}, "
                 "%32, %33, p, 1, 1, %35, %35; }"
                 : F32(c, 0)
                 : "l"(a), "l"(b), "r"(add), "n"(TURNED)
                 : "memory");
}

template <int TURNED>
__device__ __forceinline__ void multiply(float (&c)[16], unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %18, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n32k16.f32." TYPE "." TYPE " {" N16 "}, "
                 "%16, %17, p, 1, 1, %19, %19; }"
                 : F16(c, 0)
                 : "l"(a), "l"(b), "r"(add), "n"(TURNED)
                 : "memory");
}

// What 64 keys make of 16 queries times all columns of their rows, on top of c.
__device__ __forceinline__ void multiply(float (&c)[64], const unsigned int (&a)[4], unsigned long long b)
{
    asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " {" N64 "}, "
                 "{%64, %65, %66, %67}, %68, p, 1, 1, 1; }"
                 : F32(c, 0), F32(c, 32)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
                 : "memory");
}

__device__ __forceinline__ void multiply(float (&c)[32], const unsigned int (&a)[4], unsigned long long b)
{
    asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " {" N32 "}, "
                 "{%32, %33, %34, %35}, %36, p, 1, 1, 1; }"
                 : F32(c, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
                 : "memory");
}

__device__ __forceinline__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// All groups but the last `PENDING` are through, and c holds what they have made of it.
template <int PENDING>
__device__ __forceinline__ void wait(float (&c)[64])
{
    asm volatile("wgmma.wait_group.sync.aligned %64;" : F32(c, 0), F32(c, 32) : "n"(PENDING) : "memory");
}

template <int PENDING>
__device__ __forceinline__ void wait(float (&c)[32])
{
    asm volatile("wgmma.wait_group.sync.aligned %32;" : F32(c, 0) : "n"(PENDING) : "memory");
}

template <int PENDING>
__device__ __forceinline__ void wait(float (&c)[16])
{
    asm volatile("wgmma.wait_group.sync.aligned %16;" : F16(c, 0) : "n"(PENDING) : "memory");
}

// A group's 64 rows of keys or values times a tile's queries or slopes, along the width of the head.
__device__ __forceinline__ void products(float (&sum)[32], const Tile<KEYS>& left, const Tile<QUERIES>& right,
                                         int group)
{
#pragma unroll
    for (int d = 0; d < D; d += 16)
        multiply<0>(sum, descriptor(&left.line[d / PANEL][64 * group][d % PANEL], 1),
                    descriptor(&right.line[d / PANEL][0][d % PANEL], 1), d > 0);
    commit();
}

// Adds weights or slopes times a tile's rows.
__device__ __forceinline__ void add_rows(float (&sum)[D / 2], const unsigned int (&left)[4][4],
                                         const Tile<QUERIES>& right)
{
#pragma unroll
    for (int j = 0; j < 4; ++j) multiply(sum, left[j], descriptor(right.line[0][16 * j], sizeof(right.line[0]) / 16));
    commit();
}

// dS of all keys times their half of K.
__device__ __forceinline__ void slopes_of_queries(float (&sum)[HALF / 2], const Memory& shared, int group)
{
    const int column = HALF * group;
#pragma unroll
    for (int j = 0; j < KEYS / 16; ++j)
        multiply<1>(sum, descriptor(shared.ds[16 * j], 1),
                    descriptor(&shared.k.line[column / PANEL][16 * j][column % PANEL], 1), j > 0);
    commit();
}

// -- weights and slopes -----------------------------------------------------------------------------------------------
__device__ __forceinline__ unsigned int pack(float low, float high)
{
    unsigned int pair;
    asm("cvt.rn." TYPE "x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

__device__ __forceinline__ float power_of_2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// From scores to weights, in the order in which they lie: of 8 queries two beside each other, of two keys.
__device__ __forceinline__ void weigh(float (&score)[32], const float (&lse)[QUERIES], float factor, int column)
{
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        const float2 two = *reinterpret_cast<const float2*>(&lse[8 * j + column]);
#pragma unroll
        for (int e = 0; e < 4; ++e)
            score[4 * j + e] = power_of_2(score[4 * j + e] * factor - (e % 2 ? two.y : two.x) * LOG2_E);
    }
}

// Queries before the first one that sees a key have no weight.
__device__ __forceinline__ void mask(float (&weight)[32], int column, const int (&limit)[2])
{
#pragma unroll
    for (int j = 0; j < 32; ++j)
        if (column + j / 4 * 8 + j % 2 < limit[j / 2 % 2]) weight[j] = 0.0f;
}

__device__ __forceinline__ void slope_of(float (&slope)[32], const float (&weight)[32], const float (&delta)[QUERIES],
                                         int column)
{
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        const float2 two = *reinterpret_cast<const float2*>(&delta[8 * j + column]);
#pragma unroll
        for (int e = 0; e < 4; ++e)
            slope[4 * j + e] = weight[4 * j + e] * (slope[4 * j + e] - (e % 2 ? two.y : two.x));
    }
}

// The left side of the next product, 16 queries at a time.
__device__ __forceinline__ void round_off(unsigned int (&left)[4][4], const float (&from)[32])
{
#pragma unroll
    for (int j = 0; j < 16; ++j) left[j / 4][j % 4] = pack(from[2 * j], from[2 * j + 1]);
}

// A warp's slopes into the lines of its 16 keys, 16 queries at a time.
__device__ __forceinline__ void put(Element (&ds)[KEYS][QUERIES], const unsigned int (&slope)[4][4], int first,
                                    int lane)
{
    const int row = first + lane % 16;  // lanes 0 to 7: keys 0 to 7 of queries 0 to 7; then keys 8 to 15; then queries
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        const unsigned int to = address(&ds[row][(2 * j + lane / 16 ^ row % 8) * 8]);
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                     ::"r"(to), "r"(slope[j][0]), "r"(slope[j][1]), "r"(slope[j][2]), "r"(slope[j][3]) : "memory");
    }
}

// -- sums -------------------------------------------------------------------------------------------------------------
// Adds a warp's 16 rows of dQ to those at `to`, as far as there are queries.
__device__ __forceinline__ void add_to_memory(float* to, float (&line)[16][LINE], const float (&sum)[HALF / 2],
                                              float scale, int rows, int lane)
{
    if (!BULK) {
#pragma unroll
        for (int j = 0; j < HALF / 4; ++j) {
            const int row = lane / 4 + j % 2 * 8, column = j / 2 * 8 + lane % 4 * 2;
            if (row < rows)
                asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(to + (size_t)row * D + column),
                             "f"(scale * sum[2 * j]), "f"(scale * sum[2 * j + 1]) : "memory");
        }
        return;
    }
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");  // the engine has read what lay there
    __syncwarp();
#pragma unroll
    for (int j = 0; j < HALF / 4; ++j)
        *reinterpret_cast<float2*>(&line[lane / 4 + j % 2 * 8][j / 2 * 8 + lane % 4 * 2]) =
            make_float2(scale * sum[2 * j], scale * sum[2 * j + 1]);
    fence();
    __syncwarp();
    if (lane < min(16, rows))
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;"
                     ::"l"(to + (size_t)lane * D), "r"(address(line[lane])), "n"(4 * HALF) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

__device__ __forceinline__ void store(Element* out, const float (&sum)[D / 2], float factor, int key, int K)
{
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        if (key + 8 * h >= K) continue;
        unsigned int* row = reinterpret_cast<unsigned int*>(out + (size_t)(key + 8 * h) * D);
#pragma unroll
        for (int j = 0; j < D / 8; ++j)
            row[4 * j + threadIdx.x % 4] = pack(sum[4 * j + 2 * h] * factor, sum[4 * j + 2 * h + 1] * factor);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
attention_backward_warpgroup(
    const Element* __restrict__ q, const Element* __restrict__ k, const Element* __restrict__ v,
    const Element* __restrict__ dout, const float* __restrict__ lse, const float* __restrict__ delta,
    float* __restrict__ dq, Element* __restrict__ dk, Element* __restrict__ dv,
    int H, int G, int Q, int K, int past, float scale)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Memory& shared = *reinterpret_cast<Memory*>(memory);
    const int blocks = (K + KEYS - 1) / KEYS, head = blockIdx.x / blocks, first_key = blockIdx.x % blocks * KEYS;
    const int group = threadIdx.x / 128, warp = threadIdx.x / 32, lane = threadIdx.x % 32, column = lane % 4 * 2;
    const int key = first_key + 16 * warp + lane / 4;  // the upper one of two
    // The first query that sees a key.
    const auto sees = [&](int at) { return (int)max(0ll, min((long long)Q, (long long)at - past)); };
    const int start = sees(first_key) / QUERIES, tiles = (Q + QUERIES - 1) / QUERIES - start, steps = tiles * G;
    const int all = sees(min(first_key + KEYS, K) - 1);  // from here on queries see every key of the block
    int limit[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) limit[h] = key + 8 * h < K ? sees(key + 8 * h) : Q + QUERIES;

    int next = 0, next_tile = start;  // what is asked for, one or two steps ahead
    size_t next_row = (size_t)head * G * Q;
    const auto fetch_stage = [&] {
        if (next < steps) {
            const int stage = next % STAGES, first = next_tile * QUERIES, t = threadIdx.x;
            fetch(shared.q[stage], q + next_row * D, first, Q);
            fetch(shared.dout[stage], dout + next_row * D, first, Q);
            if (t < QUERIES) fetch_number(&shared.lse[stage][t], lse + next_row, first + t, Q);
            else if (t < 2 * QUERIES)
                fetch_number(&shared.delta[stage][t - QUERIES], delta + next_row, first + t - QUERIES, Q);
            if (++next_tile == start + tiles) next_tile = start, next_row += Q;
            ++next;
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    fetch(shared.k, k + (size_t)head * K * D, first_key, K);
    fetch(shared.v, v + (size_t)head * K * D, first_key, K);
#pragma unroll
    for (int stage = 0; stage < STAGES - 1; ++stage) fetch_stage();

    float sum_k[D / 2], sum_v[D / 2];
#pragma unroll
    for (int j = 0; j < D / 2; ++j) sum_k[j] = sum_v[j] = 0.0f;
    int tile = start;
    size_t row = (size_t)head * G * Q;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        const int stage = step % STAGES, first = tile * QUERIES;
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        fence();
        __syncthreads();  // the stage is there for all; all are through with dS of the step before

        float score[32], slope[32];
        unsigned int weight[4][4], ds[4][4];
        begin();
        products(score, shared.k, shared.q[stage], group);
        products(slope, shared.v, shared.dout[stage], group);
        wait<2>(sum_k);  // of the step before
        wait<1>(score);
        weigh(score, shared.lse[stage], scale * LOG2_E, column);
        if (first < all || first_key + KEYS > K) mask(score, first + column, limit);
        round_off(weight, score);
        begin();
        add_rows(sum_v, weight, shared.dout[stage]);
        wait<1>(slope);
        slope_of(slope, score, shared.delta[stage], column);
        round_off(ds, slope);
        put(shared.ds, ds, 16 * warp, lane);
        fence();
        __syncthreads();  // dS is there; all are through with the stage of the step before
        fetch_stage();

        float sum_q[HALF / 2];
        begin();
        slopes_of_queries(sum_q, shared, group);
        add_rows(sum_k, ds, shared.q[stage]);
        wait<1>(sum_q);
        const int mine = first + warp % 4 * 16;
        add_to_memory(dq + (row + mine) * D + HALF * group, shared.dq[warp], sum_q, scale, Q - mine, lane);
        if (++tile == start + tiles) tile = start, row += Q;
    }
    wait<0>(sum_k);
    asm volatile("cp.async.wait_all;" ::: "memory");  // of keys that nothing sees, too
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    store(dk + (size_t)head * K * D, sum_k, scale, key, K);
    store(dv + (size_t)head * K * D, sum_v, 1.0f, key, K);
}
