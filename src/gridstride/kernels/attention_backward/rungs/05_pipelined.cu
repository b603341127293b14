// 05 pipelined: the next tile's scores are asked for before the sums of this one, and no product waits for a barrier.
//
// Moves: waiting. In 04 the tensor cores have only dP beside the exponentials, and both warpgroups meet twice a tile.
//   Here the order is dQ, the next S, dK, dP, dV: dQ goes out beside S, the exponentials have dK and dP beside them,
//   the slopes dV. One barrier says that dS is there and the next tile, too; that dQ of the tile before is made, and
//   the place of dS free, each group tells the other at a barrier where it does not wait itself. Needs a third stage.
// Mapping: as 04.
//
// With VARLEN sequences of different lengths lie packed, q, dout and dq [Q, H, G, D], k, v, dk and dv [K, H, D], lse
// and delta [H, G, Q], Q and K tokens in all; three more parameters after past say where each begins: cu_q and cu_k
// [sequences + 1], and how many there are. Query i of a sequence of m queries and n keys sees the keys 0 to
// i + n - m + past. The grid is (K/128+sequences)*H.
//
// entry: attention_backward_pipelined
// block: 256
// grid: ceil(K/128)*H
// shared: 2*(2*128*128+3*2*64*128+128*64)+3*8*64+4*8*16*(64+8)
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

constexpr int STAGES = 3;           // of queries and their slopes
constexpr int BULK = 0;             // 1: dQ is added to memory by the copy engine; 0: by red.global, 8 bytes a lane
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

// What one group has told, the other waits for, unless it is so already.
__device__ __forceinline__ void tell(int group)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(1 + group), "n"(THREADS) : "memory");
}

__device__ __forceinline__ void hear(int group)
{
    asm volatile("bar.sync %0, %1;" ::"r"(2 - group), "n"(THREADS) : "memory");
}

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

// What 64 keys make of 16 queries times all columns of their rows, on top of c where `add`.
__device__ __forceinline__ void multiply(float (&c)[64], const unsigned int (&a)[4], unsigned long long b, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %69, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " {" N64 "}, "
                 "{%64, %65, %66, %67}, %68, p, 1, 1, 1; }"
                 : F32(c, 0), F32(c, 32)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add)
                 : "memory");
}

__device__ __forceinline__ void multiply(float (&c)[32], const unsigned int (&a)[4], unsigned long long b, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %37, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " {" N32 "}, "
                 "{%32, %33, %34, %35}, %36, p, 1, 1, 1; }"
                 : F32(c, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add)
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

// Weights or slopes times a tile's rows, on top of sum where `add`.
__device__ __forceinline__ void add_rows(float (&sum)[D / 2], const unsigned int (&left)[4][4],
                                         const Tile<QUERIES>& right, int add)
{
#pragma unroll
    for (int j = 0; j < 4; ++j)
        multiply(sum, left[j], descriptor(right.line[0][16 * j], sizeof(right.line[0]) / 16), add | j);
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

// From scores to weights, in the order in which they lie: of 8 queries two beside each other, of two keys. They get
// registers of their own: the scores' are those of the next product.
__device__ __forceinline__ void weigh(float (&weight)[32], const float (&score)[32], const float (&lse)[QUERIES],
                                      float factor, int column)
{
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        const float2 two = *reinterpret_cast<const float2*>(&lse[8 * j + column]);
#pragma unroll
        for (int e = 0; e < 4; ++e)
            weight[4 * j + e] = power_of_2(score[4 * j + e] * factor - (e % 2 ? two.y : two.x) * LOG2_E);
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
__device__ __forceinline__ void add_to_memory(float* to, int pitch, float (&line)[16][LINE],
                                              const float (&sum)[HALF / 2], float scale, int rows, int lane)
{
    if (!BULK) {
#pragma unroll
        for (int j = 0; j < HALF / 4; ++j) {
            const int row = lane / 4 + j % 2 * 8, column = j / 2 * 8 + lane % 4 * 2;
            if (row < rows)
                asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(to + row * pitch + column),
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
                     ::"l"(to + lane * pitch), "r"(address(line[lane])), "n"(4 * HALF) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

__device__ __forceinline__ void store(Element* out, int pitch, const float (&sum)[D / 2], float factor, int key,
                                      int K)
{
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        if (key + 8 * h >= K) continue;
        unsigned int* row = reinterpret_cast<unsigned int*>(out + (size_t)(key + 8 * h) * pitch);
#pragma unroll
        for (int j = 0; j < D / 8; ++j)
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
attention_backward_pipelined(
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
    const int key = first_key + 16 * warp + lane / 4;  // the upper one of two
    // The first query that sees a key.
    const auto sees = [&](int at) { return (int)max(0ll, min((long long)Q, (long long)at - past)); };
    const int start = sees(first_key) / QUERIES, tiles = (Q + QUERIES - 1) / QUERIES - start, steps = tiles * G;
    const int all = sees(min(first_key + KEYS, K) - 1);  // from here on queries see every key of the block
    const auto limit = [&](int at) { return at < K ? sees(at) : Q + QUERIES; };  // where needed: registers are few

    int asked = 0, next_tile = start;  // what is asked for, one or two steps ahead
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
#pragma unroll
    for (int stage = 0; stage < STAGES - 1; ++stage) fetch_stage();

    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    fence();
    __syncthreads();  // keys, values and the first stage are there for all
    if (!steps) {     // nothing sees these keys
        const float none[D / 2] = {};
        store(dk + keys_at, key_pitch, none, 0.0f, key, K);
        store(dv + keys_at, key_pitch, none, 0.0f, key, K);
        return;
    }
    // Sums have no value before the first product, and what is read in the loop is asked for in the same turn: else
    // ptxas makes every product wait for the one in front.
    float sum_k[D / 2], sum_v[D / 2], sum_q[HALF / 2], score[32];
    unsigned int ds[4][4];
    // From the scores of a tile, which are under way, to dS in shared memory, and its share of dV.
    const auto slopes = [&](int stage, int first, int add) {
        float slope[32], weight[32];
        unsigned int p[4][4];
        begin();
        products(slope, shared.v, shared.dout[stage], group);
        wait<2>(score);  // beside dK of the tile before, and dP
        weigh(weight, score, shared.lse[stage], scale * LOG2_E, column);
        if (first < all || first_key + KEYS > K) mask(weight, first + column, {limit(key), limit(key + 8)});
        wait<1>(sum_k);  // whose left side's registers are p's now
        round_off(p, weight);
        begin();
        add_rows(sum_v, p, shared.dout[stage], add);
        wait<1>(slope);
        slope_of(slope, weight, shared.delta[stage], column);
        round_off(ds, slope);
        hear(group);  // the other group has made dQ of the tile before
        put(shared.ds, ds, 16 * warp, lane);
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 3) : "memory");
        fence();
        __syncthreads();  // dS and the next stage are there; all are through with the stage of the tile before
        fetch_stage();
        wait<0>(sum_v);  // here all is through, once a turn: without it ptxas finds too few registers
    };
    int tile = start, of = head * G;  // tile and head of queries
    const auto queries_out = [&] {
        const int mine = tile * QUERIES + 16 * (warp % 4);
        float* to = dq + of * head_step + (size_t)mine * query_pitch + HALF * group;
        add_to_memory(to, query_pitch, shared.dq[warp], sum_q, scale, Q - mine, lane);
    };

    begin();
    products(score, shared.k, shared.q[0], group);
    wait<0>(score);
    tell(group);
    slopes(0, start * QUERIES, 0);
#pragma unroll 1
    for (int step = 1; step < steps; ++step) {
        const int stage = step % STAGES, before = (step - 1) % STAGES;
        begin();
        slopes_of_queries(sum_q, shared, group);
        products(score, shared.k, shared.q[stage], group);
        add_rows(sum_k, ds, shared.q[before], step - 1);
        wait<2>(sum_q);  // beside the next scores, and dK
        tell(group);
        queries_out();
        if (++tile == start + tiles) tile = start, ++of;
        slopes(stage, tile * QUERIES, 1);
    }
    begin();
    slopes_of_queries(sum_q, shared, group);
    add_rows(sum_k, ds, shared.q[(steps - 1) % STAGES], steps - 1);
    wait<1>(sum_q);
    queries_out();
    wait<0>(sum_k);
    asm volatile("cp.async.wait_all;" ::: "memory");  // of keys that nothing sees, too
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    store(dk + keys_at, key_pitch, sum_k, scale, key, K);
    store(dv + keys_at, key_pitch, sum_v, 1.0f, key, K);
}
