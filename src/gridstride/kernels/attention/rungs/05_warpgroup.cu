// 05 warpgroup: four warps multiply 64 queries by 128 keys together, and keys and values never come into registers.
//
// Moves: shared reads, to none: wgmma gets descriptors of the queries and the keys, and for the second product of the
//   values, with the weights as its left side from registers. It runs at the full rate of the tensor cores, of which
//   mma.sync reaches less than two thirds.
// Mapping: 2 warpgroups for 128 queries, 64 each; lane l of warp w has rows 16 w + l / 4 and 8 below it, and of every
//   8 columns 2 (l % 4) and the next: 64 scores and 64 sums a thread. Tiles are lines of 128 bytes along a head's
//   elements, in panels of 64; chunk c of line r lies at place c ^ (r % 8), as the descriptors' swizzle has it.
//   With a tensor map one thread could ask for a tile, but only the host can make one: all threads ask, by cp.async.
//
// entry: attention_warpgroup
// block: 256
// grid: ceil(Q/128)*G*H
// shared: 2*128*(128+4*128)
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

constexpr int D = HEAD_WIDTH;
constexpr int GROUPS = 2;           // warpgroups that multiply
constexpr int QUERIES = 64 * GROUPS;
constexpr int KEYS = 128;           // of a tile
constexpr int PANEL = 64;           // elements of a line of 128 bytes
constexpr int PANELS = D / PANEL;
constexpr int CHUNKS = D / 8;       // of 16 bytes, of a row
constexpr int FETCHERS = 128 * GROUPS;  // threads that bring the tiles: all

template <int HEIGHT>
struct Tile {
    Element line[PANELS][HEIGHT][PANEL];
};

struct Stage {
    Tile<KEYS> k, v;
};

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

// -- copies -----------------------------------------------------------------------------------------------------------
template <int HEIGHT>
__device__ __forceinline__ Element* chunk(Tile<HEIGHT>& tile, int e)
{
    const int r = e / CHUNKS, c = e % CHUNKS;
    return &tile.line[c / 8][r][(c % 8 ^ r % 8) * 8];
}

// One thread's share, of FETCHERS, of the rows from `first` on; beyond the last one zeros.
template <int HEIGHT>
__device__ __forceinline__ void fetch(Tile<HEIGHT>& tile, const Element* from, int t, int first, int rows)
{
#pragma unroll 4
    for (int e = t; e < HEIGHT * CHUNKS; e += FETCHERS) {
        const int row = first + e / CHUNKS, there = row < rows;
        const Element* p = from + (there ? (size_t)row * D + e % CHUNKS * 8 : 0);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     ::"r"(address(chunk(tile, e))), "l"(p), "r"(16 * there) : "memory");
    }
}

// Another sign for what this thread has asked for, which is there.
__device__ __forceinline__ void negate(Tile<QUERIES>& tile, int t)
{
    for (int e = t; e < QUERIES * CHUNKS; e += FETCHERS) {
        uint4& eight = *reinterpret_cast<uint4*>(chunk(tile, e));
        eight.x ^= 0x80008000, eight.y ^= 0x80008000, eight.z ^= 0x80008000, eight.w ^= 0x80008000;
    }
}

// -- products ---------------------------------------------------------------------------------------------------------
// A tile under the 128-byte swizzle: the stride is the way to the next 8 lines of 128 bytes. For values, whose lines
// run along the columns of the product, `panel` is the way to the next 64 of them. Both in units of 16 bytes.
__device__ __forceinline__ unsigned long long descriptor(const Element* tile, unsigned long long panel)
{
    constexpr unsigned long long stride = 1024 / 16, swizzle = 1ull << 62;
    return (address(tile) & 0x3ffff) >> 4 | panel << 16 | stride << 32 | swizzle;
}

#define F8(c, i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]), \
                 "+f"(c[i + 6]), "+f"(c[i + 7])
#define F32(c, i) F8(c, i), F8(c, i + 8), F8(c, i + 16), F8(c, i + 24)
#define N32 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define N64 N32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
            "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

// 64 queries by 16 elements times 128 keys, on top of c where `add`; it has happened behind the wait.
__device__ __forceinline__ void multiply(float (&c)[64], unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " {" N64 "}, %64, %65, p, 1, 1, 0, 0; }"
                 : F32(c, 0), F32(c, 32)
                 : "l"(a), "l"(b), "r"(add)
                 : "memory");
}

// The weights of 64 queries on 16 keys times all columns of their values, on top of c.
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

// The scores of a warpgroup's queries on a tile of keys, as one group that is not waited for.
__device__ __forceinline__ void score_tile(float (&score)[64], const Tile<QUERIES>& q, const Tile<KEYS>& k, int group)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int d = 0; d < D; d += 16) {
        const unsigned long long a = descriptor(&q.line[d / PANEL][64 * group][d % PANEL], 1);
        multiply(score, a, descriptor(&k.line[d / PANEL][0][d % PANEL], 1), d > 0);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Adds the weighted values of a tile to the sums, likewise.
__device__ __forceinline__ void add_values(float (&sum)[D / 2], const unsigned int (&weight)[KEYS / 16][4],
                                           const Tile<KEYS>& v)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int j = 0; j < KEYS / 16; ++j)
        multiply(sum, weight[j], descriptor(v.line[0][16 * j], sizeof(v.line[0]) / 16));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// -- softmax ----------------------------------------------------------------------------------------------------------
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

// What a thread knows of its two rows: the largest product so far, the sum of the weights of its own columns.
struct Rows {
    float largest[2], total[2];
    float keep[2];  // what the sums before the last tile are to be multiplied by

    // From products to weights. `factor`: the scale times log2(e), above zero.
    __device__ __forceinline__ void weigh(float (&score)[64], float factor)
    {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float now = largest[h];
#pragma unroll
            for (int j = 2 * h; j < 64; j += 4) now = fmaxf(now, fmaxf(score[j], score[j + 1]));
            now = fmaxf(now, __shfl_xor_sync(0xffffffff, now, 1));
            now = fmaxf(now, __shfl_xor_sync(0xffffffff, now, 2));
            const float down = now == -INFINITY ? 0.0f : now * factor;
            keep[h] = power_of_2(largest[h] * factor - down);
            largest[h] = now;
            total[h] *= keep[h];
#pragma unroll
            for (int j = 2 * h; j < 64; j += 4) {
                score[j] = power_of_2(score[j] * factor - down);
                score[j + 1] = power_of_2(score[j + 1] * factor - down);
                total[h] += score[j] + score[j + 1];
            }
        }
    }

    __device__ __forceinline__ void correct(float (&sum)[D / 2]) const
    {
#pragma unroll
        for (int j = 0; j < D / 2; ++j) sum[j] *= keep[j / 2 % 2];
    }
};

// Products beyond the keys that a row sees count as nothing.
__device__ __forceinline__ void mask(float (&score)[64], int column, const int (&limit)[2])
{
#pragma unroll
    for (int j = 0; j < 64; ++j)
        if (column + j / 4 * 8 + j % 2 >= limit[j / 2 % 2]) score[j] = -INFINITY;
}

// The left side of the second product, 16 keys at a time: the order in which the first one leaves them.
__device__ __forceinline__ void round_off(unsigned int (&weight)[KEYS / 16][4], const float (&score)[64])
{
#pragma unroll
    for (int j = 0; j < 32; ++j) weight[j / 4][j % 4] = pack(score[2 * j], score[2 * j + 1]);
}

__device__ __forceinline__ void store(const float (&sum)[D / 2], const float (&total)[2], Element* out, int query,
                                      int Q)
{
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        float whole = total[h];
        whole += __shfl_xor_sync(0xffffffff, whole, 1);
        whole += __shfl_xor_sync(0xffffffff, whole, 2);
        const float inverse = whole == 0.0f ? 0.0f : 1.0f / whole;
        if (query + 8 * h >= Q) continue;
        unsigned int* row = reinterpret_cast<unsigned int*>(out + (size_t)(query + 8 * h) * D);
#pragma unroll
        for (int j = 0; j < D / 8; ++j)
            row[4 * j + threadIdx.x % 4] = pack(sum[4 * j + 2 * h] * inverse, sum[4 * j + 2 * h + 1] * inverse);
    }
}

extern "C" __global__ void __launch_bounds__(FETCHERS, 1)
attention_warpgroup(const Element* __restrict__ q, const Element* __restrict__ k, const Element* __restrict__ v,
                    Element* __restrict__ out, int H, int G, int Q, int K, int past, float scale)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Tile<QUERIES>& queries = *reinterpret_cast<Tile<QUERIES>*>(memory);
    Stage* stages = reinterpret_cast<Stage*>(memory + sizeof(Tile<QUERIES>));
    const int tiles = (Q + QUERIES - 1) / QUERIES, head = blockIdx.x / tiles, t = threadIdx.x, group = t / 128;
    const int first_query = (tiles - 1 - blockIdx.x % tiles) * QUERIES;  // under a mask the longest go first
    k += (size_t)(head / G) * K * D, v += (size_t)(head / G) * K * D;
    // Keys that the first `count` queries see of those that there are.
    const auto seen = [&](int count) { return (int)max(0ll, min((long long)K, (long long)count + past)); };
    const int steps = (seen(first_query + QUERIES) + KEYS - 1) / KEYS;

    const auto fetch_stage = [&](int step) {
        if (step < steps) {
            fetch(stages[step % 2].k, k, t, step * KEYS, K);
            fetch(stages[step % 2].v, v, t, step * KEYS, K);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    fetch(queries, q + (size_t)head * Q * D, t, first_query, Q);
    fetch_stage(0);
    if (scale < 0.0f) {  // largest products are looked for: -q k then, for a scale above zero
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        negate(queries, t);
    }
    const float factor = fabsf(scale) * 1.44269504f;  // times log2(e)
    const int query = first_query + t / 32 * 16 + t % 32 / 4;  // the thread's upper row
    const int all = seen(first_query + t / 32 * 16 + 1);       // keys that every row of the warp sees
    const int limit[2] = {seen(query + 1), seen(query + 9)};

    float sum[D / 2] = {};
    Rows rows = {{-INFINITY, -INFINITY}};
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // threads put tiles there, wgmma reads them
        __syncthreads();  // all of the stage is there, and all are through with the other one
        fetch_stage(step + 1);
        const Stage& stage = stages[step % 2];

        float score[64];
#pragma unroll
        for (int j = 0; j < 64; ++j) score[j] = 0.0f;
        score_tile(score, queries, stage.k, group);
        wait<0>(score);
        if ((step + 1) * KEYS > all) mask(score, step * KEYS + t % 4 * 2, limit);
        rows.weigh(score, factor);
        rows.correct(sum);
        unsigned int weight[KEYS / 16][4];
        round_off(weight, score);
        add_values(sum, weight, stage.v);
        wait<0>(sum);
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");  // of queries that see nothing, too
    store(sum, rows.total, out + (size_t)head * Q * D, query, Q);
}
