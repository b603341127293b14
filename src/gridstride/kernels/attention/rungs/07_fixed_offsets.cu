// 07 fixed offsets: a thread's pieces of a tile lie at fixed distances, in memory and, under the swizzle, in the tile.
//
// Moves: the producers' instructions, and with them the time from an empty tile to a full one. In 06 each piece of 16
//   bytes has its row, its chunk, its place and a test made for it. Here a thread has the same chunk of every fourth
//   row: two addresses and constants, and no test where the tile ends before the last row.
// Mapping: as 06, but the row of a piece is t / 16 + 4 i and its chunk t % 16 (t / 8 + 8 i and t % 8 of heads of 64,
//   t / 32 + 2 i and t % 32 of heads of 256, whose tiles have 80 keys: 64 KB of queries and four tiles of 40 KB).
//
// With LOG_SUM_EXP there is one more parameter before scale, lse [H, G, Q]: log of the sum of e^score of each query,
// -Inf of none, from which the backward pass makes the weights again.
//
// With VARLEN sequences of different lengths lie packed, q and out [Q, H, G, D], k and v [K, H, D], lse [H, G, Q], Q
// and K tokens in all; three more parameters after past say where each begins: cu_q and cu_k [sequences + 1], and how
// many there are. Query i of a sequence of m queries and n keys sees the keys 0 to i + n - m + past: the causal mask at
// the bottom right where past is 0. The grid is min(SMS,(Q/128+sequences)*G*H).
//
// entry: attention_fixed_offsets
// block: 384
// grid: min(SMS,ceil(Q/128)*G*H)
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

#ifdef VARLEN
#define VARLEN_PARAMETERS const int* __restrict__ cu_q, const int* __restrict__ cu_k, int sequences,
#else
#define VARLEN_PARAMETERS
#endif
#ifdef LOG_SUM_EXP
#define LSE_PARAMETER float* __restrict__ lse,
#else
#define LSE_PARAMETER
#endif

constexpr int D = HEAD_WIDTH;
constexpr int GROUPS = 2;           // warpgroups that multiply
constexpr int STAGES = 2;           // of keys, and of values
constexpr int QUERIES = 64 * GROUPS;
constexpr int KEYS = D == 256 ? 80 : 128;  // of a tile
constexpr int SCORES = KEYS / 2;    // of a thread, of a tile
constexpr int PANEL = 64;           // elements of a line of 128 bytes
constexpr int PANELS = D / PANEL;
constexpr int CHUNKS = D / 8;       // of 16 bytes, of a row
constexpr int FETCHERS = 64;        // threads that bring a tile
constexpr int PRODUCERS = 128;      // threads that bring tiles
constexpr int THREADS = PRODUCERS + 128 * GROUPS;

template <int HEIGHT>
struct Tile {
    Element line[PANELS][HEIGHT][PANEL];
};

struct Tiles {
    Tile<QUERIES> q;
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

// One thread's share, of FETCHERS, of the rows from `first` on; beyond the last one zeros. `pitch` has 64 bits: of an
// int ptxas keeps a multiple for each row and spills them.
template <int HEIGHT>
__device__ __forceinline__ void fetch(Tile<HEIGHT>& tile, const Element* from, size_t pitch, int t, int first, int rows)
{
    constexpr int STEP = FETCHERS / CHUNKS;  // rows that are asked for at a time: 2, 4 or 8
    const int r = t / CHUNKS, c = t % CHUNKS;
    const unsigned int to = address(&tile.line[c / 8][r][0]), place = c % 8 ^ r;  // with r below STEP, r + i is r ^ i
    const Element* p = from + (size_t)(first + r) * pitch + c * 8;
    if (first + HEIGHT <= rows) {
#pragma unroll
        for (int i = 0; i < HEIGHT; i += STEP) copy16(to + i * 128 + (place ^ i % 8) * 16, p + i * pitch, 16);
        return;
    }
#pragma unroll 1
    for (int i = 0; i < HEIGHT; i += STEP) {
        const int there = first + r + i < rows;
        copy16(to + i * 128 + (place ^ i % 8) * 16, there ? p + i * pitch : from, 16 * there);
    }
}

// Another sign for what this thread has asked for, which is there.
template <int HEIGHT>
__device__ __forceinline__ void negate(Tile<HEIGHT>& tile, int t)
{
    for (int e = t; e < HEIGHT * CHUNKS; e += FETCHERS) {
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
    asm volatile("bar.sync %0, %1;" ::"r"(1 + group), "n"(128 * GROUPS) : "memory");
}

__device__ __forceinline__ void end_turn(int group)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(2 - group), "n"(128 * GROUPS) : "memory");
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
#define F64(c, i) F32(c, i), F32(c, i + 32)
#define N32 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define N64 N32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
            "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define N40 N32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define N128 N64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
             "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
             "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
             "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

// 64 queries by 16 elements times 128 (80) keys, on top of c where `add`; it has happened behind the wait.
__device__ __forceinline__ void multiply(float (&c)[64], unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " {" N64 "}, %64, %65, p, 1, 1, 0, 0; }"
                 : F64(c, 0)
                 : "l"(a), "l"(b), "r"(add)
                 : "memory");
}

__device__ __forceinline__ void multiply(float (&c)[40], unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %42, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n80k16.f32." TYPE "." TYPE " {" N40 "}, %40, %41, p, 1, 1, 0, 0; }"
                 : F32(c, 0), F8(c, 32)
                 : "l"(a), "l"(b), "r"(add)
                 : "memory");
}

// The weights of 64 queries on 16 keys times all columns of their values, on top of c.
__device__ __forceinline__ void multiply(float (&c)[128], const unsigned int (&a)[4], unsigned long long b)
{
    asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32." TYPE "." TYPE " {" N128 "}, "
                 "{%128, %129, %130, %131}, %132, p, 1, 1, 1; }"
                 : F64(c, 0), F64(c, 64)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
                 : "memory");
}

__device__ __forceinline__ void multiply(float (&c)[64], const unsigned int (&a)[4], unsigned long long b)
{
    asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " {" N64 "}, "
                 "{%64, %65, %66, %67}, %68, p, 1, 1, 1; }"
                 : F64(c, 0)
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
__device__ __forceinline__ void wait(float (&c)[128])
{
    asm volatile("wgmma.wait_group.sync.aligned %128;" : F64(c, 0), F64(c, 64) : "n"(PENDING) : "memory");
}

template <int PENDING>
__device__ __forceinline__ void wait(float (&c)[40])
{
    asm volatile("wgmma.wait_group.sync.aligned %40;" : F32(c, 0), F8(c, 32) : "n"(PENDING) : "memory");
}

template <int PENDING>
__device__ __forceinline__ void wait(float (&c)[64])
{
    asm volatile("wgmma.wait_group.sync.aligned %64;" : F64(c, 0) : "n"(PENDING) : "memory");
}

template <int PENDING>
__device__ __forceinline__ void wait(float (&c)[32])
{
    asm volatile("wgmma.wait_group.sync.aligned %32;" : F32(c, 0) : "n"(PENDING) : "memory");
}

// The scores of a warpgroup's queries on a tile of keys, as one group that is not waited for.
__device__ __forceinline__ void score_tile(float (&score)[SCORES], const Tile<QUERIES>& q, const Tile<KEYS>& k,
                                           int group)
{
    const unsigned long long a = descriptor(q.line[0][64 * group], 1), b = descriptor(k.line[0][0], 1);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int d = 0; d < D; d += 16) {
        const int at = d / PANEL, in = d % PANEL * 2 / 16;
        multiply(score, a + at * (sizeof(q.line[0]) / 16) + in, b + at * (sizeof(k.line[0]) / 16) + in, d > 0);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Adds the weighted values of a tile to the sums, likewise.
__device__ __forceinline__ void add_values(float (&sum)[D / 2], const unsigned int (&weight)[KEYS / 16][4],
                                           const Tile<KEYS>& v)
{
    const unsigned long long b = descriptor(v.line[0][0], sizeof(v.line[0]) / 16);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int j = 0; j < KEYS / 16; ++j)
        multiply(sum, weight[j], b + j * (16 * 128 / 16));
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
    __device__ __forceinline__ void weigh(float (&score)[SCORES], float factor)
    {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float now = largest[h];
#pragma unroll
            for (int j = 2 * h; j < SCORES; j += 4) now = fmaxf(now, fmaxf(score[j], score[j + 1]));
            now = fmaxf(now, __shfl_xor_sync(0xffffffff, now, 1));
            now = fmaxf(now, __shfl_xor_sync(0xffffffff, now, 2));
            const float down = now == -INFINITY ? 0.0f : now * factor;
            keep[h] = power_of_2(largest[h] * factor - down);
            largest[h] = now;
            total[h] *= keep[h];
#pragma unroll
            for (int j = 2 * h; j < SCORES; j += 4) {
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
__device__ __forceinline__ void mask(float (&score)[SCORES], int column, const int (&limit)[2])
{
#pragma unroll
    for (int j = 0; j < SCORES; ++j)
        if (column + j / 4 * 8 + j % 2 >= limit[j / 2 % 2]) score[j] = -INFINITY;
}

// The left side of the second product, 16 keys at a time: the order in which the first one leaves them.
__device__ __forceinline__ void round_off(unsigned int (&weight)[KEYS / 16][4], const float (&score)[SCORES])
{
#pragma unroll
    for (int j = 0; j < SCORES / 2; ++j) weight[j / 4][j % 4] = pack(score[2 * j], score[2 * j + 1]);
}

__device__ __forceinline__ void store(const float (&sum)[D / 2], const float (&total)[2], Element* out,
                                      int pitch, int query, int Q)
{
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        float whole = total[h];
        whole += __shfl_xor_sync(0xffffffff, whole, 1);
        whole += __shfl_xor_sync(0xffffffff, whole, 2);
        const float inverse = whole == 0.0f ? 0.0f : 1.0f / whole;
        if (query + 8 * h >= Q) continue;
        unsigned int* row = reinterpret_cast<unsigned int*>(out + (size_t)(query + 8 * h) * pitch);
#pragma unroll
        for (int j = 0; j < D / 8; ++j)
            row[4 * j + threadIdx.x % 4] = pack(sum[4 * j + 2 * h] * inverse, sum[4 * j + 2 * h + 1] * inverse);
    }
}

__device__ __forceinline__ void store_lse(const Rows& rows, float factor, float* lse, int query, int Q)
{
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        float whole = rows.total[h];
        whole += __shfl_xor_sync(0xffffffff, whole, 1);
        whole += __shfl_xor_sync(0xffffffff, whole, 2);
        const float exponent = whole == 0.0f ? -INFINITY : rows.largest[h] * factor + log2f(whole);
        if (threadIdx.x % 4 == 0 && query + 8 * h < Q) lse[query + 8 * h] = exponent * 0.693147181f;  // times log(2)
    }
}

// -- roles ------------------------------------------------------------------------------------------------------------
struct Problem {
    const Element *q, *k, *v;
    Element* out;
    int H, G, Q, K, past;
    const int *cu_q, *cu_k;  // of VARLEN
    int sequences;
    float scale;
    float* lse;

    // Turns of a block of queries and a head. A sequence that begins at query b has its blocks from the number
    // b / QUERIES + its own on: as many places as its blocks, or one more.
    __device__ __forceinline__ int count() const
    {
        return (cu_q ? Q / QUERIES + sequences : (Q + QUERIES - 1) / QUERIES) * G * H;
    }
};

// A turn: the queries of a block, of one head of one sequence, and how many tiles of keys they see.
struct Work {
    int head, first_query, steps;
    int Q, K, past;                         // of the sequence
    size_t query, key, lse;                 // where its first ones lie, of this head
    size_t query_pitch = D, key_pitch = D;  // from one token to the next

    __device__ __forceinline__ Work(const Problem& p, int number) : Q(p.Q), K(p.K), past(p.past)
    {
        const int heads = p.H * p.G;
#ifdef VARLEN
        head = number % heads;
        const int place = number / heads, sequence = sequence_at(p, place);
        const int first = p.cu_q[sequence], first_key = p.cu_k[sequence];
        Q = p.cu_q[sequence + 1] - first, K = p.cu_k[sequence + 1] - first_key;
        past = (int)min((long long)K, max(-(long long)Q, (long long)p.past + K - Q));
        const int tiles = (Q + QUERIES - 1) / QUERIES, tile = tiles - 1 - (place - first / QUERIES - sequence);
        first_query = max(tile, 0) * QUERIES;
        query_pitch = (size_t)heads * D, key_pitch = (size_t)p.H * D;
        query = (size_t)first * query_pitch + head * D, key = (size_t)first_key * key_pitch + head / p.G * D;
        lse = (size_t)head * p.Q + first;
        if (tile < 0) Q = 0;  // a place of no block
        steps = tile < 0 ? 0 : (seen(first_query + QUERIES) + KEYS - 1) / KEYS;
#else
        const int tiles = (p.Q + QUERIES - 1) / QUERIES;
        const bool masked = p.past < p.K - 1;
        head = masked ? number % heads : number / tiles;
        first_query = (masked ? tiles - 1 - number / heads : number % tiles) * QUERIES;
        query = (size_t)head * p.Q * D, key = (size_t)(head / p.G) * p.K * D, lse = (size_t)head * p.Q;
        steps = (seen(first_query + QUERIES) + KEYS - 1) / KEYS;
#endif
    }

    // Keys that the first `count` queries see.
    __device__ __forceinline__ int seen(int count) const
    {
        return (int)max(0ll, min((long long)K, (long long)count + past));
    }

    // The last sequence whose blocks begin at this place or before it; a lane looks at one, all lanes get it.
    static __device__ __forceinline__ int sequence_at(const Problem& p, int place)
    {
        for (int first = 0;; first += 32) {
            const int next = first + threadIdx.x % 32 + 1;
            const bool before = next < p.sequences && p.cu_q[next] / QUERIES + next <= place;
            const unsigned int lanes = __ballot_sync(0xffffffff, before);
            if (lanes != 0xffffffff) return first + __popc(lanes);
        }
    }
};

// What the first warpgroup does: two warps bring keys, the other two queries and values.
struct Producer {
    Tiles& tiles;
    Barriers& barriers;
    int thread;                     // of those two warps
    int turn_q = 0, turn = 0;       // places in the rings

    // Rows from `first` on into a tile that is empty; it is full when all FETCHERS have passed on their share.
    template <int HEIGHT>
    __device__ __forceinline__ void bring(Tile<HEIGHT>& tile, Barrier* full, const Element* from, size_t pitch,
                                          int first, int rows, bool negative = false)
    {
        fetch(tile, from, pitch, thread, first, rows);
        asm volatile("cp.async.wait_all;" ::: "memory");
        if (negative) negate(tile, thread);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // threads put tiles there, wgmma reads them
        arrive(full);
    }

    __device__ __forceinline__ void queries(const Problem& p, const Work& work)
    {
        if (!work.steps) return;
        if (turn_q) wait(&barriers.empty_q, turn_q - 1 & 1);
        ++turn_q;
        // Largest products are looked for: of -q k where the scale is below zero.
        bring(tiles.q, &barriers.full_q, p.q + work.query, work.query_pitch, work.first_query, work.Q,
              p.scale < 0.0f);
    }

    __device__ __forceinline__ void rows(Tile<KEYS> (&ring)[STAGES], Barrier (&full)[STAGES], Barrier (&empty)[STAGES],
                                         const Element* from, const Work& work)
    {
        from += work.key;
        for (int step = 0; step < work.steps; ++step, ++turn) {
            const int stage = turn % STAGES;
            if (turn >= STAGES) wait(&empty[stage], turn / STAGES - 1 & 1);
            bring(ring[stage], &full[stage], from, work.key_pitch, step * KEYS, work.K);
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
    __device__ __forceinline__ void advance(float (&score)[SCORES], float (&sum)[D / 2],
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

    __device__ __forceinline__ void run(const Problem& p, const Work& work)
    {
        const int first = work.first_query + thread / 32 * 16, query = first + thread % 32 / 4;  // its upper row
        const int limit[2] = {work.seen(query + 1), work.seen(query + 9)}, column = thread % 4 * 2;
        const int whole = work.seen(work.first_query + 64 * group + 1) / KEYS;  // tiles that all of the warpgroup sees
        const float factor = fabsf(p.scale) * 1.44269504f;                  // times log2(e)
        float sum[D / 2] = {};
        Rows rows = {{-INFINITY, -INFINITY}};
        if (work.steps) {
            float score[SCORES];
            unsigned int weight[KEYS / 16][4];
#pragma unroll
            for (int j = 0; j < SCORES; ++j) score[j] = 0.0f;
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
        if (p.lse) store_lse(rows, factor, p.lse + work.lse, query, work.Q);
        store(sum, rows.total, p.out + work.query, work.query_pitch, query, work.Q);
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 1)
attention_fixed_offsets(const Element* __restrict__ q, const Element* __restrict__ k, const Element* __restrict__ v,
                        Element* __restrict__ out, int H, int G, int Q, int K, int past,
                        VARLEN_PARAMETERS LSE_PARAMETER float scale)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ Barriers barriers;
    Tiles& tiles = *reinterpret_cast<Tiles*>(memory);
#ifndef LOG_SUM_EXP
    float* const lse = nullptr;
#endif
#ifndef VARLEN
    const int *const cu_q = nullptr, *const cu_k = nullptr;
    const int sequences = 0;
#endif
    const Problem problem = {q, k, v, out, H, G, Q, K, past, cu_q, cu_k, sequences, scale, lse};
    const int count = problem.count();

    if (threadIdx.x == 0) {
        init(&barriers.full_q, FETCHERS), init(&barriers.empty_q, 4 * GROUPS);
        for (int stage = 0; stage < STAGES; ++stage) {
            init(&barriers.full_k[stage], FETCHERS), init(&barriers.empty_k[stage], 4 * GROUPS);
            init(&barriers.full_v[stage], FETCHERS), init(&barriers.empty_v[stage], 4 * GROUPS);
        }
    }
    __syncthreads();

    if (threadIdx.x < PRODUCERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        Producer producer = {tiles, barriers, (int)threadIdx.x % FETCHERS};
        for (int number = blockIdx.x; number < count; number += gridDim.x) {
            const Work work(problem, number);
            if (threadIdx.x < FETCHERS) {
                producer.rows(tiles.k, barriers.full_k, barriers.empty_k, k, work);
            } else {
                producer.queries(problem, work);
                producer.rows(tiles.v, barriers.full_v, barriers.empty_v, v, work);
            }
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const int thread = threadIdx.x - PRODUCERS;
    Consumer consumer = {tiles, barriers, thread / 128, thread};
    if (consumer.group == 1) end_turn(1);  // the first turn is the first group's
    for (int number = blockIdx.x; number < count; number += gridDim.x) consumer.run(problem, Work(problem, number));
    if (consumer.group == 0) begin_turn(0);  // whose barrier nobody else would wait at
}
