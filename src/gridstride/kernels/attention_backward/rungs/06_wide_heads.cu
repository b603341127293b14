// 06 wide heads: a warpgroup has half of the columns of dK and dV, of all keys, so that heads of 256 fit the registers.
//
// Moves: registers. In 05 a thread has D / 2 numbers of dK and as many of dV: 256 of 255 where D is 256. Here it has
//   half of them, for 64 keys a block instead of 128. Scores and slopes are shared out by queries, 32 for each group,
//   and both groups need those of all 64: weights and dS go through shared memory. Two of each, so that no group waits
//   for what the other one still reads: dV and dK of a tile run while dQ goes out and the next scores are asked for.
// Mapping: of S^T and dP^T warpgroup g has all 64 keys on the queries 32 g to 32 g + 31 of the tile; of dK, dV and dQ
//   the columns D / 2 g and on. Of each 16x8 piece lane l has rows l / 4 and l / 4 + 8, columns 2 (l % 4) and the next.
//
// With VARLEN sequences of different lengths lie packed, q, dout and dq [Q, H, G, D], k, v, dk and dv [K, H, D], lse
// and delta [H, G, Q], Q and K tokens in all; three more parameters after past say where each begins: cu_q and cu_k
// [sequences + 1], and how many there are. Query i of a sequence of m queries and n keys sees the keys 0 to
// i + n - m + past. The grid is (K/64+sequences)*H.
//
// entry: attention_backward_wide_heads
// block: 256
// grid: ceil(K/64)*H
// shared: 2*(2*64*128+4*64*128+4*64*64)+4*4*64
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

constexpr int STAGES = 2;           // of queries and their slopes
constexpr int D = HEAD_WIDTH;
constexpr int GROUPS = 2;           // warpgroups
constexpr int THREADS = 128 * GROUPS;
constexpr int KEYS = 64;            // of a block
constexpr int QUERIES = 64;         // of a tile
constexpr int SHARE = QUERIES / GROUPS;  // of them, whose scores are a warpgroup's
constexpr int PANEL = 64;           // elements of a line of 128 bytes
constexpr int PANELS = D / PANEL;
constexpr int CHUNKS = D / 8;       // of 16 bytes, of a row
constexpr int HALF = D / GROUPS;    // columns of sums of a warpgroup
constexpr float LOG2_E = 1.44269504f;

template <int HEIGHT>
struct Tile {
    Element line[PANELS][HEIGHT][PANEL];
};

typedef Element Square[KEYS][QUERIES];  // a line for each key

struct Memory {
    Tile<KEYS> k, v;
    Tile<QUERIES> q[STAGES], dout[STAGES];
    Square p[2], ds[2];
    float lse[STAGES][QUERIES], delta[STAGES][QUERIES];
};

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

// -- copies -----------------------------------------------------------------------------------------------------------
// This thread's share of the rows from `first` on; beyond the last one zeros.
template <int HEIGHT>
__device__ __forceinline__ void fetch(Tile<HEIGHT>& tile, const Element* from, int pitch, int first, int rows)
{
    constexpr int STEP = THREADS / CHUNKS;  // rows that are asked for at a time, a multiple of 8
    const int r = threadIdx.x / CHUNKS, c = threadIdx.x % CHUNKS;
    const unsigned int to = address(&tile.line[c / 8][r][(c % 8 ^ r % 8) * 8]);
    const Element* p = from + (size_t)(first + r) * pitch + c * 8;
#pragma unroll
    for (int i = 0; i < HEIGHT; i += STEP) {
        const int there = first + r + i < rows;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     ::"r"(to + i * 128), "l"(there ? p + i * pitch : from), "r"(16 * there) : "memory");
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

// 64 rows times 32 (64, 128) columns on top of c where `add`. TURNED_A, TURNED_B: that side's lines run along its rows
// or columns, not along the sum.
template <int TURNED_A, int TURNED_B>
__device__ __forceinline__ void multiply(float (&c)[16], unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %18, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n32k16.f32." TYPE "." TYPE " {" N16 "}, "
                 "%16, %17, p, 1, 1, %19, %20; }"
                 : F16(c, 0)
                 : "l"(a), "l"(b), "r"(add), "n"(TURNED_A), "n"(TURNED_B)
                 : "memory");
}

template <int TURNED_A, int TURNED_B>
__device__ __forceinline__ void multiply(float (&c)[32], unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " {" N32 "}, "
                 "%32, %33, p, 1, 1, %35, %36; }"
                 : F32(c, 0)
                 : "l"(a), "l"(b), "r"(add), "n"(TURNED_A), "n"(TURNED_B)
                 : "memory");
}

template <int TURNED_A, int TURNED_B>
__device__ __forceinline__ void multiply(float (&c)[64], unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " {" N64 "}, "
                 "%64, %65, p, 1, 1, %67, %68; }"
                 : F32(c, 0), F32(c, 32)
                 : "l"(a), "l"(b), "r"(add), "n"(TURNED_A), "n"(TURNED_B)
                 : "memory");
}

__device__ __forceinline__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// All groups but the last `PENDING` are through, and c, or c and d, hold what they have made of them.
template <int PENDING>
__device__ __forceinline__ void wait(float (&c)[16])
{
    asm volatile("wgmma.wait_group.sync.aligned %16;" : F16(c, 0) : "n"(PENDING) : "memory");
}

template <int PENDING>
__device__ __forceinline__ void wait(float (&c)[32])
{
    asm volatile("wgmma.wait_group.sync.aligned %32;" : F32(c, 0) : "n"(PENDING) : "memory");
}

template <int PENDING>
__device__ __forceinline__ void wait(float (&c)[64])
{
    asm volatile("wgmma.wait_group.sync.aligned %64;" : F32(c, 0), F32(c, 32) : "n"(PENDING) : "memory");
}

template <int PENDING>
__device__ __forceinline__ void wait(float (&c)[16], float (&d)[16])
{
    asm volatile("wgmma.wait_group.sync.aligned %32;" : F16(c, 0), F16(d, 0) : "n"(PENDING) : "memory");
}

template <int PENDING>
__device__ __forceinline__ void wait(float (&c)[32], float (&d)[32])
{
    asm volatile("wgmma.wait_group.sync.aligned %64;" : F32(c, 0), F32(d, 0) : "n"(PENDING) : "memory");
}

template <int PENDING>
__device__ __forceinline__ void wait(float (&c)[64], float (&d)[64])
{
    asm volatile("wgmma.wait_group.sync.aligned %128;"
                 : F32(c, 0), F32(c, 32), F32(d, 0), F32(d, 32) : "n"(PENDING) : "memory");
}

// All keys or values times a group's queries or slopes of a tile, along the width of the head.
__device__ __forceinline__ void products(float (&sum)[SHARE / 2], const Tile<KEYS>& left, const Tile<QUERIES>& right,
                                         int group)
{
    const unsigned long long a = descriptor(left.line[0][0], 1), b = descriptor(right.line[0][SHARE * group], 1);
#pragma unroll
    for (int d = 0; d < D; d += 16) {
        const int in = d % PANEL * 2 / 16;
        multiply<0, 0>(sum, a + d / PANEL * (sizeof(left.line[0]) / 16) + in,
                       b + d / PANEL * (sizeof(right.line[0]) / 16) + in, d > 0);
    }
    commit();
}

// A group's columns of 64 rows of a tile.
template <int HEIGHT>
__device__ __forceinline__ unsigned long long columns(const Tile<HEIGHT>& tile, int group)
{
    const int column = HALF * group;
    return descriptor(&tile.line[column / PANEL][0][column % PANEL], sizeof(tile.line[0]) / 16);
}

// Weights or slopes of all keys times their share of a tile's rows, on top of sum where `add`.
__device__ __forceinline__ void add_rows(float (&sum)[HALF / 2], const Square& left, const Tile<QUERIES>& right,
                                         int group, int add)
{
    const unsigned long long a = descriptor(left[0], 1), b = columns(right, group);
#pragma unroll
    for (int j = 0; j < QUERIES / 16; ++j) multiply<0, 1>(sum, a + j * 2, b + j * (16 * 128 / 16), add | j);
}

// dS of all keys times their share of K.
__device__ __forceinline__ void slopes_of_queries(float (&sum)[HALF / 2], const Square& ds, const Tile<KEYS>& k,
                                                  int group)
{
    const unsigned long long a = descriptor(ds[0], 1), b = columns(k, group);
#pragma unroll
    for (int j = 0; j < KEYS / 16; ++j) multiply<1, 1>(sum, a + j * (16 * 128 / 16), b + j * (16 * 128 / 16), j > 0);
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
__device__ __forceinline__ void weigh(float (&score)[SHARE / 2], const float* lse, float factor)
{
#pragma unroll
    for (int j = 0; j < SHARE / 8; ++j) {
        const float2 two = *reinterpret_cast<const float2*>(&lse[8 * j]);
#pragma unroll
        for (int e = 0; e < 4; ++e)
            score[4 * j + e] = power_of_2(score[4 * j + e] * factor - (e % 2 ? two.y : two.x) * LOG2_E);
    }
}

// Queries before the first one that sees a key have no weight.
__device__ __forceinline__ void mask(float (&weight)[SHARE / 2], int column, const int (&limit)[2])
{
#pragma unroll
    for (int j = 0; j < SHARE / 2; ++j)
        if (column + j / 4 * 8 + j % 2 < limit[j / 2 % 2]) weight[j] = 0.0f;
}

__device__ __forceinline__ void slope_of(float (&slope)[SHARE / 2], const float (&weight)[SHARE / 2],
                                         const float* delta)
{
#pragma unroll
    for (int j = 0; j < SHARE / 8; ++j) {
        const float2 two = *reinterpret_cast<const float2*>(&delta[8 * j]);
#pragma unroll
        for (int e = 0; e < 4; ++e)
            slope[4 * j + e] = weight[4 * j + e] * (slope[4 * j + e] - (e % 2 ? two.y : two.x));
    }
}

// A warp's numbers, rounded, into the lines of its 16 keys from `first` on, 16 of the group's queries at a time.
__device__ __forceinline__ void put(Square& square, const float (&from)[SHARE / 2], int first, int group, int lane)
{
    const int row = first + lane % 16;  // lanes 0 to 7: keys 0 to 7 of queries 0 to 7; then keys 8 to 15; then queries
#pragma unroll
    for (int j = 0; j < SHARE / 16; ++j) {
        const float* c = &from[8 * j];
        const unsigned int to = address(&square[row][(SHARE / 8 * group + 2 * j + lane / 16 ^ row % 8) * 8]);
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                     ::"r"(to), "r"(pack(c[0], c[1])), "r"(pack(c[2], c[3])), "r"(pack(c[4], c[5])),
                     "r"(pack(c[6], c[7])) : "memory");
    }
}

// -- sums -------------------------------------------------------------------------------------------------------------
// Adds a warp's 16 rows of dQ to those at `to`, as far as there are queries.
__device__ __forceinline__ void add_to_memory(float* to, int pitch, const float (&sum)[HALF / 2], float scale, int rows,
                                              int lane)
{
#pragma unroll
    for (int j = 0; j < HALF / 4; ++j) {
        const int row = lane / 4 + j % 2 * 8, column = j / 2 * 8 + lane % 4 * 2;
        if (row < rows)
            asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(to + row * pitch + column),
                         "f"(scale * sum[2 * j]), "f"(scale * sum[2 * j + 1]) : "memory");
    }
}

__device__ __forceinline__ void store(Element* out, int pitch, const float (&sum)[HALF / 2], float factor, int key,
                                      int K)
{
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        if (key + 8 * h >= K) continue;
        unsigned int* row = reinterpret_cast<unsigned int*>(out + (size_t)(key + 8 * h) * pitch);
#pragma unroll
        for (int j = 0; j < HALF / 8; ++j)
            row[4 * j + threadIdx.x % 4] = pack(sum[4 * j + 2 * h] * factor, sum[4 * j + 2 * h + 1] * factor);
    }
}

#ifdef VARLEN
// The last sequence whose blocks of keys begin at this place or before it: one that begins at key b has them from the
// number b / KEYS + its own on. A lane looks at one, all lanes get it.
__device__ __forceinline__ int sequence_at(const int* cu_k, int sequences, int place)
{
    for (int first = 0;; first += 32) {
        const int next = first + threadIdx.x % 32 + 1;
        const bool before = next < sequences && cu_k[next] / KEYS + next <= place;
        const unsigned int lanes = __ballot_sync(0xffffffff, before);
        if (lanes != 0xffffffff) return first + __popc(lanes);
    }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, 1)
attention_backward_wide_heads(
    const Element* __restrict__ q, const Element* __restrict__ k, const Element* __restrict__ v,
    const Element* __restrict__ dout, const float* __restrict__ lse, const float* __restrict__ delta,
    float* __restrict__ dq, Element* __restrict__ dk, Element* __restrict__ dv,
    int H, int G, int Q, int K, int past, VARLEN_PARAMETERS float scale)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Memory& shared = *reinterpret_cast<Memory*>(memory);
#ifdef VARLEN
    const int head = blockIdx.x % H, place = blockIdx.x / H, sequence = sequence_at(cu_k, sequences, place);
    const int begin_q = cu_q[sequence], begin_k = cu_k[sequence];
    const int first_key = (place - begin_k / KEYS - sequence) * KEYS;
    const int rows_of_head = Q, query_pitch = H * G * D, key_pitch = H * D;
    Q = cu_q[sequence + 1] - begin_q, K = cu_k[sequence + 1] - begin_k;
    past = (int)min((long long)K, max(-(long long)Q, (long long)past + K - Q));
    if (first_key >= K) return;  // a place of no block
    const size_t skipped = (size_t)begin_q * query_pitch, keys_at = (size_t)begin_k * key_pitch + head * D;
    q += skipped, dout += skipped, dq += skipped, lse += begin_q, delta += begin_q;
    constexpr size_t head_step = D;
#else
    const int blocks = (K + KEYS - 1) / KEYS, head = blockIdx.x / blocks, first_key = blockIdx.x % blocks * KEYS;
    constexpr int query_pitch = D, key_pitch = D;
    const int rows_of_head = Q;
    const size_t keys_at = (size_t)head * K * D, head_step = (size_t)Q * D;
#endif
    const int group = threadIdx.x / 128, warp = threadIdx.x / 32, lane = threadIdx.x % 32, column = lane % 4 * 2;
    const int key = first_key + warp % 4 * 16 + lane / 4;  // the upper one of two
    // The first query that sees a key.
    const auto sees = [&](int at) { return (int)max(0ll, min((long long)Q, (long long)at - past)); };
    const int start = sees(first_key) / QUERIES, tiles = (Q + QUERIES - 1) / QUERIES - start, steps = tiles * G;
    const int all = sees(min(first_key + KEYS, K) - 1);  // from here on queries see every key of the block
    const auto limit = [&](int at) { return at < K ? sees(at) : Q + QUERIES; };

    int asked = 0, next_tile = start;  // what is asked for, one step ahead
    int next_head = head * G;
    const auto fetch_stage = [&] {
        if (asked < steps) {
            const int stage = asked % STAGES, first = next_tile * QUERIES, t = threadIdx.x;
            const size_t row = (size_t)next_head * rows_of_head, at = next_head * head_step;
            fetch(shared.q[stage], q + at, query_pitch, first, Q);
            fetch(shared.dout[stage], dout + at, query_pitch, first, Q);
            if (t < QUERIES) fetch_number(&shared.lse[stage][t], lse + row, first + t, Q);
            else if (t < 2 * QUERIES)
                fetch_number(&shared.delta[stage][t - QUERIES], delta + row, first + t - QUERIES, Q);
            if (++next_tile == start + tiles) next_tile = start, ++next_head;
            ++asked;
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    fetch(shared.k, k + keys_at, key_pitch, first_key, K);
    fetch(shared.v, v + keys_at, key_pitch, first_key, K);
    fetch_stage();

    if (!steps) {  // nothing sees these keys
        asm volatile("cp.async.wait_all;" ::: "memory");
        const float none[HALF / 2] = {};
        store(dk + keys_at + HALF * group, key_pitch, none, 0.0f, key, K);
        store(dv + keys_at + HALF * group, key_pitch, none, 0.0f, key, K);
        return;
    }
    float sum_k[HALF / 2], sum_v[HALF / 2];  // no values before the first product: else ptxas makes each one wait
    int tile = start, of = head * G;         // tile and head of queries
    int step = 0;
#pragma unroll 1
    do {
        const int stage = step % STAGES, buffer = step % 2, first = tile * QUERIES, mine = SHARE * group + column;
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        fence();
        __syncthreads();  // the stage is there for all

        float score[SHARE / 2], slope[SHARE / 2];
        begin();
        products(score, shared.k, shared.q[stage], group);
        products(slope, shared.v, shared.dout[stage], group);
        wait<2>(sum_k, sum_v);  // of the step before
        wait<1>(score);
        weigh(score, &shared.lse[stage][mine], scale * LOG2_E);
        if (first < all || first_key + KEYS > K) mask(score, first + mine, {limit(key), limit(key + 8)});
        put(shared.p[buffer], score, warp % 4 * 16, group, lane);
        wait<0>(slope);
        slope_of(slope, score, &shared.delta[stage][mine]);
        put(shared.ds[buffer], slope, warp % 4 * 16, group, lane);
        fence();
        __syncthreads();  // weights and dS are there; all are through with the stage of the step before
        fetch_stage();

        float sum_q[HALF / 2];
        begin();
        slopes_of_queries(sum_q, shared.ds[buffer], shared.k, group);
        commit();
        add_rows(sum_v, shared.p[buffer], shared.dout[stage], group, step);
        add_rows(sum_k, shared.ds[buffer], shared.q[stage], group, step);
        commit();
        wait<1>(sum_q);
        const int row = first + warp % 4 * 16;
        float* to = dq + of * head_step + (size_t)row * query_pitch + HALF * group;
        add_to_memory(to, query_pitch, sum_q, scale, Q - row, lane);
        if (++tile == start + tiles) tile = start, ++of;
    } while (++step < steps);
    wait<0>(sum_k, sum_v);
    store(dk + keys_at + HALF * group, key_pitch, sum_k, scale, key, K);
    store(dv + keys_at + HALF * group, key_pitch, sum_v, 1.0f, key, K);
}
