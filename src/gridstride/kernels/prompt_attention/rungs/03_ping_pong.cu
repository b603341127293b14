// 03 ping pong: two warpgroups multiply in turn, a third one brings tiles, and a block takes piece after piece.
//
// Moves: instructions of the products, and the softmax of one warpgroup under the products of the other. wgmma has both
//   sides of q k^T from shared memory; weights stay in registers. It is attention's rung 07: its producers bring a tile
//   row by row, and 8 keys in a row lie in one block of the cache, so that a tile needs 16 numbers from the table, one
//   of each of 16 lanes, which are read while the tile before is on its way.
// Mapping: item n is head n % K of piece n / K. Of B blocks block b takes b, 2B - 1 - b, 2B + b, 4B - 1 - b and so on:
//   with the longest pieces first all have about as much. Row r of a tile is query r / GROUP, head r % GROUP of the
//   group; a producer has chunk t % 16 of every fourth row of keys (t % 8 of every eighth of heads of 64).
//
// entry: prompt_attention_ping_pong
// block: 384
// grid: min(SMS,P*K)
// shared: 2*128*(128+4*128)
// needs: 9.0

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef HEAD_WIDTH
#define HEAD_WIDTH 128
#endif
#ifndef GROUP
#define GROUP 2  // query heads of a head of keys
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 16
#endif
#ifndef BFLOAT16
#define TYPE "f16"
typedef __half Element;
#else
#define TYPE "bf16"
typedef __nv_bfloat16 Element;
#endif

constexpr int D = HEAD_WIDTH;
constexpr int WARPGROUPS = 2;       // that multiply
constexpr int STAGES = 2;           // of keys, and of values
constexpr int ROWS = 64 * WARPGROUPS;  // of queries: GROUP of each
constexpr int KEYS = 128;           // of a tile
constexpr int PANEL = 64;           // elements of a line of 128 bytes
constexpr int PANELS = D / PANEL;
constexpr int CHUNKS = D / 8;       // of 16 bytes, of a row
constexpr int FETCHERS = 64;        // threads that bring a tile
constexpr int PRODUCERS = 128;      // threads that bring tiles
constexpr int THREADS = PRODUCERS + 128 * WARPGROUPS;
constexpr int EIGHTS = KEYS / 8;    // of keys of a tile, each in one block of the cache
static_assert(BLOCK_SIZE % 8 == 0, "8 keys in a row lie in one block");

template <int HEIGHT>
struct Tile {
    Element line[PANELS][HEIGHT][PANEL];
};

struct Tiles {
    Tile<ROWS> q;
    Tile<KEYS> k[STAGES], v[STAGES];
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

__device__ __forceinline__ void copy16(unsigned int to, const Element* from, int bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

// One thread's share, of FETCHERS, of a tile of keys or values. Lane e of a warp knows the row of the cache where the
// e-th eight of them begins; beyond `count` keys zeros.
__device__ __forceinline__ void fetch_keys(Tile<KEYS>& tile, const Element* from, int t, int row, int count)
{
    constexpr int STEP = FETCHERS / CHUNKS;  // rows that are asked for at a time: 4 or 8
    const int r = t / CHUNKS, c = t % CHUNKS;
    const unsigned int to = address(&tile.line[c / 8][r][0]), place = c % 8 ^ r;  // with r below STEP, r + i is r ^ i
    const Element* p = from + r * D + c * 8;
    if (count >= KEYS) {
#pragma unroll
        for (int e = 0; e < EIGHTS; ++e) {
            const Element* eight = p + (long long)__shfl_sync(0xffffffff, row, e) * D;
#pragma unroll
            for (int i = 0; i < 8; i += STEP) copy16(to + (8 * e + i) * 128 + (place ^ i) * 16, eight + i * D, 16);
        }
        return;
    }
#pragma unroll 1
    for (int e = 0; e < EIGHTS; ++e) {
        const Element* eight = p + (long long)__shfl_sync(0xffffffff, row, e) * D;
#pragma unroll
        for (int i = 0; i < 8; i += STEP) {
            const int there = 8 * e + r + i < count;
            copy16(to + (8 * e + i) * 128 + (place ^ i) * 16, there ? eight + i * D : from, 16 * there);
        }
    }
}

// The same of the queries: of rows `count`, GROUP heads of each query, whose tokens lie `token` elements apart.
__device__ __forceinline__ void fetch_queries(Tile<ROWS>& tile, const Element* from, int t, int count, int token)
{
#pragma unroll 1
    for (int e = t; e < ROWS * CHUNKS; e += FETCHERS) {
        const int r = e / CHUNKS, c = e % CHUNKS, there = r < count;
        const Element* p = from + (there ? r / GROUP * token + r % GROUP * D + c * 8 : 0);
        copy16(address(chunk(tile, e)), p, 16 * there);
    }
}

// Another sign for what this thread has asked for, which is there.
__device__ __forceinline__ void negate(Tile<ROWS>& tile, int t)
{
    asm volatile("" : "+r"(t));  // what follows from it is made here, and not kept in registers from item to item
    for (int e = t; e < ROWS * CHUNKS; e += FETCHERS) {
        uint4& eight = *reinterpret_cast<uint4*>(chunk(tile, e));
        eight.x ^= 0x80008000, eight.y ^= 0x80008000, eight.z ^= 0x80008000, eight.w ^= 0x80008000;
    }
}

// -- barriers ---------------------------------------------------------------------------------------------------------
typedef unsigned long long Barrier;

// On which tiles are full: an arrival of each thread that brings them; and empty: one of each warp that multiplies.
struct Barriers {
    Barrier full_q, full_k[STAGES], full_v[STAGES], empty_q, empty_k[STAGES], empty_v[STAGES];
};

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

// A warpgroup's turn at the tensor cores: its own named barrier, and the other's, who goes next.
__device__ __forceinline__ void begin_turn(int group)
{
    asm volatile("bar.sync %0, %1;" ::"r"(1 + group), "n"(128 * WARPGROUPS) : "memory");
}

__device__ __forceinline__ void end_turn(int group)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(2 - group), "n"(128 * WARPGROUPS) : "memory");
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
__device__ __forceinline__ void score_tile(float (&score)[64], const Tile<ROWS>& q, const Tile<KEYS>& k, int group)
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

// Rows of the tile below `count`; tokens lie `token` elements apart.
__device__ __forceinline__ void store(const float (&sum)[D / 2], const float (&total)[2], Element* out, int row,
                                      int count, int token)
{
#pragma unroll
    for (int h = 0; h < 2; ++h, row += 8) {
        float whole = total[h];
        whole += __shfl_xor_sync(0xffffffff, whole, 1);
        whole += __shfl_xor_sync(0xffffffff, whole, 2);
        const float inverse = whole == 0.0f ? 0.0f : 1.0f / whole;
        if (row >= count) continue;
        unsigned int* to = reinterpret_cast<unsigned int*>(out + (size_t)(row / GROUP) * token + row % GROUP * D);
#pragma unroll
        for (int j = 0; j < D / 8; ++j)
            to[4 * j + threadIdx.x % 4] = pack(sum[4 * j + 2 * h] * inverse, sum[4 * j + 2 * h + 1] * inverse);
    }
}

// -- roles ------------------------------------------------------------------------------------------------------------
struct Problem {
    const Element *q, *keys, *values;
    const int* tables;
    const int (*pieces)[4];
    Element* out;
    int K, P, table_width;
    float scale;
};

// Where it is written, so that the compiler rather reads again than keeps it in a register beside the sums.
__device__ __forceinline__ int read(const int& from)
{
    int x;
    asm volatile("ld.global.nc.s32 %0, [%1];" : "=r"(x) : "l"(&from));
    return x;
}

// Item `number`: a head of a piece.
struct Work {
    int head, first, count, table, seen, steps;  // `seen` by the last query; no query: all behind it are unused, too

    __device__ __forceinline__ Work(const Problem& p, int number) : count(0)
    {
        if (number >= p.P * p.K) return;
        const int(&piece)[4] = p.pieces[number / p.K];
        head = number % p.K, first = read(piece[0]), count = read(piece[1]), table = read(piece[2]);
        seen = read(piece[3]);
        steps = seen > 0 ? (seen + KEYS - 1) / KEYS : 0;
    }

    // Where its first query's first head begins in q and in out.
    __device__ __forceinline__ size_t start(const Problem& p) const
    {
        return ((size_t)first * p.K + head) * GROUP * D;
    }

    // Keys that the query of a row of the tile sees.
    __device__ __forceinline__ int limit(int row) const { return min(seen, seen - count + 1 + row / GROUP); }
};

// A block's next item: forwards through the first B items, backwards through the next ones, and so on.
__device__ __forceinline__ int next(int number)
{
    const int round = number / gridDim.x;
    return (round + 1) * gridDim.x + (round % 2 ? blockIdx.x : gridDim.x - 1 - blockIdx.x);
}

// What the first warpgroup does: two warps bring keys, the other two queries and values.
struct Producer {
    Tiles& tiles;
    Barriers& barriers;
    int thread;                     // of those two warps
    int turn_q = 0, turn = 0;       // places in the rings

    // What this thread has asked for is there, and wgmma may see it; the tile is full when all FETCHERS say so.
    __device__ __forceinline__ void finish(Barrier* full)
    {
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // threads put tiles there, wgmma reads them
        arrive(full);
    }

    __device__ __forceinline__ void queries(const Problem& p, const Work& work)
    {
        if (!work.steps) return;
        if (turn_q) wait(&barriers.empty_q, turn_q - 1 & 1);
        ++turn_q;
        fetch_queries(tiles.q, p.q + work.start(p), thread, work.count * GROUP, p.K * GROUP * D);
        asm volatile("cp.async.wait_all;" ::: "memory");
        if (p.scale < 0.0f) negate(tiles.q, thread);  // largest products are looked for: of -q k
        finish(&barriers.full_q);
    }

    // The row of the cache where this lane's eight keys of a tile begin; any number where none of them is seen.
    __device__ __forceinline__ int eight(const Problem& p, const Work& work, int step) const
    {
        const int token = step * KEYS + thread % 32 * 8;
        if (thread % 32 >= EIGHTS || token >= work.seen) return 0;
        const int block = p.tables[(long long)work.table * p.table_width + token / BLOCK_SIZE];
        return (block * p.K + work.head) * BLOCK_SIZE + token % BLOCK_SIZE;
    }

    __device__ __forceinline__ void rows(Tile<KEYS> (&ring)[STAGES], Barrier (&full)[STAGES], Barrier (&empty)[STAGES],
                                         const Element* cache, const Problem& p, const Work& work)
    {
        int row = eight(p, work, 0);
        for (int step = 0; step < work.steps; ++step, ++turn) {
            const int stage = turn % STAGES;
            if (turn >= STAGES) wait(&empty[stage], turn / STAGES - 1 & 1);
            fetch_keys(ring[stage], cache, thread, row, work.seen - step * KEYS);
            row = eight(p, work, step + 1);
            asm volatile("cp.async.wait_all;" ::: "memory");
            finish(&full[stage]);
        }
    }
};

// What each of the others does.
struct Consumer {
    Tiles& tiles;
    Barriers& barriers;
    int group, thread;           // which warpgroup of those that multiply, and which thread of all of these
    int turn_q = 0, turn = 0;    // places in the rings; keys are one tile ahead of values

    __device__ __forceinline__ void give_back(Barrier* empty) const
    {
        if (thread % 32 == 0) arrive(empty);
    }

    // Scores of one tile of keys beside the sums over the tile of values before it, and what follows from them.
    template <bool MASKED>
    __device__ __forceinline__ void advance(float (&score)[64], float (&sum)[D / 2],
                                            unsigned int (&weight)[KEYS / 16][4], Rows& rows, float factor, int column,
                                            const int (&limit)[2])
    {
        const int k = turn % STAGES, v = (turn - 1) % STAGES;
        wait(&barriers.full_k[k], turn / STAGES & 1);
        wait(&barriers.full_v[v], (turn - 1) / STAGES & 1);
        begin_turn(group);
        score_tile(score, tiles.q, tiles.k[k], group);
        add_values(sum, weight, tiles.v[v]);
        end_turn(group);
        wait<1>(score);
        give_back(&barriers.empty_k[k]);
        if (MASKED) mask(score, column, limit);
        rows.weigh(score, factor);
        wait<0>(sum);
        give_back(&barriers.empty_v[v]);
        rows.correct(sum);
        round_off(weight, score);
        ++turn;
    }

    // False where there is nothing more to do.
    __device__ __forceinline__ bool run(const Problem& p, int number)
    {
        const Work work(p, number);
        if (work.count <= 0) return false;
        const int upper = thread / 32 * 16 + thread % 32 / 4;  // of its two rows of the tile
        const int limit[2] = {work.limit(upper), work.limit(upper + 8)}, column = thread % 4 * 2;
        const int whole = work.limit(64 * group) / KEYS;  // tiles that all of the warpgroup sees
        const float factor = fabsf(p.scale) * 1.44269504f;                  // times log2(e)
        float sum[D / 2] = {};
        Rows rows = {{-INFINITY, -INFINITY}};
        if (work.steps) {
            float score[64];
            unsigned int weight[KEYS / 16][4];
#pragma unroll
            for (int j = 0; j < 64; ++j) score[j] = 0.0f;
            wait(&barriers.full_q, turn_q++ & 1);
            wait(&barriers.full_k[turn % STAGES], turn / STAGES & 1);
            begin_turn(group);
            score_tile(score, tiles.q, tiles.k[turn % STAGES], group);
            end_turn(group);
            wait<0>(score);
            give_back(&barriers.empty_k[turn % STAGES]);
            if (whole < 1) mask(score, column, limit);
            rows.weigh(score, factor);
            round_off(weight, score);
            ++turn;
            int step = 1;
#pragma unroll 1
            for (; step < whole; ++step) advance<false>(score, sum, weight, rows, factor, step * KEYS + column, limit);
#pragma unroll 1
            for (; step < work.steps; ++step)
                advance<true>(score, sum, weight, rows, factor, step * KEYS + column, limit);
            give_back(&barriers.empty_q);
            const int v = (turn - 1) % STAGES;
            wait(&barriers.full_v[v], (turn - 1) / STAGES & 1);
            add_values(sum, weight, tiles.v[v]);
            wait<0>(sum);
            give_back(&barriers.empty_v[v]);
        }
        const Work again(p, number);
        store(sum, rows.total, p.out + again.start(p), thread / 32 * 16 + thread % 32 / 4, again.count * GROUP,
              p.K * GROUP * D);
        return true;
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 1)
prompt_attention_ping_pong(const Element* __restrict__ q, const Element* __restrict__ keys,
                           const Element* __restrict__ values, const int* __restrict__ tables,
                           const int* __restrict__ pieces, Element* __restrict__ out, int K, int P, int table_width,
                           float scale)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ Barriers barriers;
    Tiles& tiles = *reinterpret_cast<Tiles*>(memory);
    const Problem problem = {q, keys, values, tables, reinterpret_cast<const int(*)[4]>(pieces), out, K, P, table_width,
                             scale};

    if (threadIdx.x == 0) {
        init(&barriers.full_q, FETCHERS), init(&barriers.empty_q, 4 * WARPGROUPS);
        for (int stage = 0; stage < STAGES; ++stage) {
            init(&barriers.full_k[stage], FETCHERS), init(&barriers.empty_k[stage], 4 * WARPGROUPS);
            init(&barriers.full_v[stage], FETCHERS), init(&barriers.empty_v[stage], 4 * WARPGROUPS);
        }
    }
    __syncthreads();

    if (threadIdx.x < PRODUCERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        Producer producer = {tiles, barriers, (int)threadIdx.x % FETCHERS};
        for (int number = blockIdx.x;; number = next(number)) {
            const Work work(problem, number);
            if (work.count <= 0) break;
            if (threadIdx.x < FETCHERS) {
                producer.rows(tiles.k, barriers.full_k, barriers.empty_k, keys, problem, work);
            } else {
                producer.queries(problem, work);
                producer.rows(tiles.v, barriers.full_v, barriers.empty_v, values, problem, work);
            }
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const int thread = threadIdx.x - PRODUCERS;
    Consumer consumer = {tiles, barriers, thread / 128, thread};
    if (consumer.group == 1) end_turn(1);  // the first turn is the first group's
    for (int number = blockIdx.x; consumer.run(problem, number);) number = next(number);
    if (consumer.group == 0) begin_turn(0);  // whose barrier nobody else would wait at
}
