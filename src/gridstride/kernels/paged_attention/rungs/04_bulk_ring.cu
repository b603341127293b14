// 04 bulk ring: all keys and values of a block are asked for at once, by bulk copies; tensor cores look as they land.
//
// Moves: bytes on their way per multiprocessor, from what registers hold to what shared memory holds, without a thread
//   that waits for each; instructions per token, since a product of 16 tokens with up to 8 heads is one of a warp's.
// Mapping: tokens of all sequences and key heads stand in one line, with room for what a part costs besides, and block
//   b takes the b-th piece of that line: an equal share whatever the lengths are (Walk). Its last warp reads the table
//   and asks, queries too, up to STAGES stages ahead; the others look. A stage is eight copies of keys and eight of
//   values, of PIECE tokens each, that land 16 bytes further modulo 128 each: ldmatrix takes a row from each of the
//   eight and finds them in different banks. So a warp's tile of 16 tokens is two rows of every copy. Scores are keys
//   (16 tokens) times queries (8 heads), the output values (16 elements of all rows) times weights (8 heads).
//
// entry: paged_attention_bulk_ring
// block: 32*5
// grid: min(2*SMS, K*S)
// shared: 6*(2*8*(8*128+16)+2*(128+16)) + 128 + 128 + 4*2*(64+6)*4 + 6*16 + 32
// needs: 9.0

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>

#ifndef ELEMENT
#define ELEMENT __half
#endif
#ifndef HEAD_WIDTH
#define HEAD_WIDTH 64
#endif
#ifndef GROUP
#define GROUP 2
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 16
#endif
#ifndef PIECE
#define PIECE 8  // tokens of a copy
#define STAGES 6  // on their way, or being looked at
#define WARPS 4  // that look
#define RESIDENT 2  // blocks on a multiprocessor
#define SHARED 104192  // bytes, as ring.py counts them
#endif
#ifndef LEAST
#define LEAST 16  // tokens of a block's share, unless sequences have less on average
#endif
#ifndef PART
#define PART 0  // tokens that memory answers in the time that a part costs besides its own
#endif
#ifndef SNAP
#define SNAP 32  // a cut moves by so many tokens, or a SLACK-th of a share, to where a sequence begins: a merge less
#define SLACK 4  // sequences of less than twice as many are never cut
#endif
#ifndef EVEN
#define EVEN 8  // few sequences begin with blocks; a share grows by up to an EVEN-th to end with equal ones; 0: neither
#endif
#ifndef AT_ONCE
#define AT_ONCE 4  // records that a thread reads before it adds them up
#endif
#ifndef FIXED_PAST
#define FIXED_PAST 0  // kernels in front write no lengths, no table, and of keys and values only a sequence's last
#endif
#ifndef EVICT_FIRST
#define EVICT_FIRST 1  // what is read once a step leaves L2 before what is read by every block
#endif

typedef ELEMENT Element;
typedef unsigned int Word;

constexpr int D = HEAD_WIDTH;
constexpr int THREADS = 32 * (WARPS + 1);
constexpr int ROW = D * sizeof(Element);  // bytes of a token
constexpr int COPIES = 8;  // of keys, and of values, in a stage: the rows of a matrix of ldmatrix
constexpr int APART = (PIECE * ROW + 127) / 128 * 128 + 16;  // bytes from copy to copy
constexpr int STEP = COPIES * PIECE;  // tokens of a stage
constexpr int TILES = (PIECE + 1) / 2;  // of 16 tokens, in a stage
constexpr int READERS = TILES < WARPS ? TILES : WARPS;  // warps that look at one stage
constexpr int TEAMS = WARPS / READERS;  // take stages in turn
constexpr int COLUMNS = (GROUP + 7) / 8;  // heads in eights
constexpr int PADDED = D + 4;  // floats: heads 2t and 2t + 1 of lanes t = 0 .. 3 begin in different banks
constexpr int RECORD = D + 4;  // floats of one head in one part: output, maximum, sum, and two for 16-byte reads
constexpr int QUADS = GROUP * D / 4;  // of the output of a key head
constexpr float LOG2E = 1.4426950408889634f;
constexpr Word ALL_LANES = 0xffffffffu;
static_assert(sizeof(Element) == 2 && D % 16 == 0, "tensor cores take 16-bit elements, 16 at a time");
static_assert(STAGES % TEAMS == 0, "a warp sees every phase of a slot: of two, parity would tell it none");
static_assert(BLOCK_SIZE % PIECE == 0, "a copy is of one block of the cache");
static_assert(TILES % WARPS == 0 || WARPS % TILES == 0, "warps take tiles in turn");
static_assert((LEAST & (LEAST - 1)) == 0, "a mask rounds to it");
static_assert(SNAP >= PIECE && LEAST >= 2 * PIECE && PART >= 0, "parts begin with a copy, and have more than none");

template <class T> constexpr bool BRAIN = false;
template <> constexpr bool BRAIN<__nv_bfloat16> = true;

// A sequence that is cut: which, or -1 for none; the blocks that have parts of it; whether this one adds them up.
struct Shares {
    int head, from, to, mine;
};

struct __align__(16) Shared {
    unsigned char ring[STAGES][2][COPIES * APART];
    unsigned char queries[STAGES][GROUP][ROW + 16];  // of the part that begins with the stage; rows in different banks
    unsigned char zeros[ROW + 16 * COPIES];  // stand for tokens that are not there, 16 bytes on from copy to copy
    float heads[WARPS][GROUP][PADDED], tops[WARPS][GROUP], sums[WARPS][GROUP];
    unsigned long long full[STAGES], empty[STAGES];
    Shares cut[2];  // begun by the block before, and left to the block behind
};

static_assert(sizeof(Shared) == SHARED, "the launch gives what is used");

__device__ __forceinline__ Word address(const void* shared)
{
    return static_cast<Word>(__cvta_generic_to_shared(shared));
}

// What lanes, warps or parts have seen of one head: weights relative to exp2(top).
__device__ __forceinline__ float weight(float top, float all)
{
    return top == -INFINITY ? 0.0f : exp2f(top - all);
}

// In one instruction, which the compiler has no name for before compute capability 8.0.
__device__ __forceinline__ int warp_sum(int value)
{
    int sum;
    asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(sum) : "r"(value));
    return sum;
}

__device__ __forceinline__ int warp_most(int value)
{
    int most;
    asm volatile("redux.sync.max.s32 %0, %1, 0xffffffff;" : "=r"(most) : "r"(value));
    return most;
}

// -- who does what ----------------------------------------------------------------------------------------------------
// A walk over the block's stretch of the line, sequence after sequence and key head after key head, each of them PART
// and its tokens long; or, where that many blocks are there, as many times LEAST as its tokens need. Positions on the
// line are ints: 2^31 of them are more than any GPU's memory holds.
struct Walk {
    const int* lengths;
    int S, K, share, snap;
    int before = PART, more = PART, mask = -1;  // what tokens begin behind, how much more room they have, its rounding
    int s, kv, length, at;  // where we are, and where on the line that begins

    __device__ int room(int length) const { return length ? (length + more) & mask : 0; }

    __device__ Walk(const int* lengths, int S, int K) : lengths(lengths), S(S), K(K)
    {
        const int lane = threadIdx.x % 32, each = (S + 31) / 32;
        int mine = 0, slots = 0, some = 0, most = 0;
#pragma unroll 4
        for (int i = lane * each; i < min(S, (lane + 1) * each); ++i) {
            mine += room(lengths[i]);
            slots += (lengths[i] + LEAST - 1) / LEAST;
            some += lengths[i] > 0;
            most = max(most, room(lengths[i]));
        }
        const int blocks = gridDim.x;
        const bool few = EVEN && K * warp_sum(slots) <= blocks;
        if (few) mine = slots * LEAST;
        int upto = mine;
#pragma unroll
        for (int offset = 1; offset < 32; offset *= 2) {
            const int before = __shfl_up_sync(ALL_LANES, upto, offset);
            if (lane >= offset) upto += before;
        }
        const int all = __shfl_sync(ALL_LANES, upto, 31);
        const int average = all / max(1, warp_sum(some));
        share = max(min(LEAST + PART, average), (K * all + blocks - 1) / blocks);
        snap = max(SNAP, share / SLACK);
        if (few) {
            share = LEAST;
            snap = LEAST / 2 + PIECE;
            before = 0;
            more = LEAST - 1;
            mask = -LEAST;
        } else if (EVEN && all && warp_most(most) - average <= average / 32) {
            const int parts = max(1, average / share), whole = (share + average - 1) / average;
            const int even = share < average ? (average + parts - 1) / parts : whole * average;
            if (even - share <= share / max(1, EVEN)) {
                share = even;
                snap = min(snap, max(PIECE, share / 4));
            }
        }
        const int begin = blockIdx.x * share;
        const Word behind = __ballot_sync(ALL_LANES, upto * K > begin);
        s = behind ? (__ffs(behind) - 1) * each : S;
        at = K * __shfl_sync(ALL_LANES, upto - mine, behind ? __ffs(behind) - 1 : 0);
        if (!behind) return;
        while (begin - at >= K * room(length = lengths[s])) {
            at += K * room(length);
            ++s;
        }
        kv = (begin - at) / room(length);
        at += kv * room(length);
    }

    // Where block c's share begins in this sequence and head: with a copy, and nowhere near an end.
    __device__ int cut(int c) const
    {
        const int offset = c * share - at - before;
        if (offset >= length) return length;
        return offset < snap ? 0 : offset > length - snap ? length : offset / PIECE * PIECE;
    }

    __device__ int begin() const { return cut(blockIdx.x); }
    __device__ int end() const { return cut(blockIdx.x + 1); }
    __device__ bool there() const { return s < S && at < (int(blockIdx.x) + 1) * share; }

    // Blocks that have parts of a sequence that is cut: from the last whose cut is 0 to the first that reaches its end.
    __device__ int first() const { return (at + before + snap - 1) / share; }
    __device__ int last() const { return (at + before + length - snap) / share; }

    __device__ void next()
    {
        at += room(length);
        if (++kv < K) return;
        kv = 0;
        do ++s;
        while (s < S && (length = lengths[s]) == 0);
    }
};

// Until the kernels in front have ended, and what they wrote is there. Every thread does: see kernels/torch_op.py.
__device__ __forceinline__ void wait_for_those_in_front()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void let_the_next_begin()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// -- the ring ---------------------------------------------------------------------------------------------------------
__device__ __forceinline__ void wait(const unsigned long long* barrier, Word parity)
{
    Word done;
    do {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(address(barrier)), "r"(parity) : "memory");
    } while (!done);
}

__device__ __forceinline__ void ask(
    const unsigned char* to, const Element* from, Word bytes, const unsigned long long* barrier,
    unsigned long long policy)
{
    if (EVICT_FIRST)
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
            ::"r"(address(to)), "l"(from), "r"(bytes), "r"(address(barrier)), "l"(policy) : "memory");
    else
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
            ::"r"(address(to)), "l"(from), "r"(bytes), "r"(address(barrier)) : "memory");
}

// One warp. Lane l holds where copy l % 8 of stage l / 8 of the next four comes from, and looks up the four after them:
// of this part, and of the next one. `past`: as far as the empty ring goes, all but queries and the copies with a
// sequence's last token. A second walk asks for these, and for all the rest.
__device__ __forceinline__ void fill(
    Shared& m, Walk walk, bool past, const Element* q, const Element* keys, const Element* values, const int* tables,
    int table_width)
{
    const int lane = threadIdx.x % 32, copy = lane % COPIES;
    unsigned long long policy = 0;
    if (EVICT_FIRST) asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    const auto block_of = [&](const Walk& in, int token, int end) {
        return token < end ? tables[(long long)in.s * table_width + token / BLOCK_SIZE] : 0;
    };
    const auto first_of = [&](const Walk& in) {
        return in.there() ? block_of(in, in.begin() + lane * PIECE, in.end()) : 0;
    };
    int block = 0, next = first_of(walk);
    for (Word stage = 0; walk.there();) {
        const int begin = walk.begin(), end = walk.end();
        Walk ahead = walk;
        ahead.next();
        const int behind = first_of(ahead);
        const Element* const head = q + ((long long)walk.s * walk.K + walk.kv) * GROUP * D;
        int token = begin + lane * PIECE;
        for (int base = begin, turn = 0; base < end; base += STEP, ++stage, turn = (turn + 1) % 4) {
            if (turn == 0) {
                if (base > begin) token += 32 * PIECE;
                block = next;
                next = block_of(walk, token + 32 * PIECE, end);
            }
            const int slot = stage % STAGES;
            const bool fresh = base < begin + TEAMS * STEP;  // what the first stage of a part is to each team
            const bool begun = FIXED_PAST && !past && stage < STAGES;
            if (past && stage == STAGES) return;
            if (stage >= STAGES) wait(&m.empty[slot], (stage / STAGES & 1) ^ 1);
            if (lane == 0 && !begun)
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                             ::"r"(address(&m.full[slot])), "r"((2 * min(end - base, STEP) + GROUP * fresh) * ROW)
                             : "memory");
            __syncwarp();
            const int tokens = min(end - token, PIECE);
            const bool last = token + tokens == walk.length;
            if (lane / COPIES == turn && tokens > 0 && (past ? !last : last || !begun)) {
                const long long at = (((long long)block * walk.K + walk.kv) * BLOCK_SIZE + token % BLOCK_SIZE) * D;
                ask(m.ring[slot][0] + copy * APART, keys + at, tokens * ROW, &m.full[slot], policy);
                ask(m.ring[slot][1] + copy * APART, values + at, tokens * ROW, &m.full[slot], policy);
            }
            if (fresh && !past && lane < GROUP)
                ask(m.queries[slot][lane], head + lane * D, ROW, &m.full[slot], policy);
        }
        walk = ahead;
        next = behind;
    }
}

// -- products ---------------------------------------------------------------------------------------------------------
// Elements of four matrices of 8 by 8: of its row lane / 4, or of its column where TURNED, a lane gets two neighbours.
template <bool TURNED> __device__ __forceinline__ void load(Word (&a)[4], Word from)
{
    if (TURNED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(from) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(from) : "memory");
}

__device__ __forceinline__ void mma(float (&c)[4], const Word (&a)[4], const Word (&b)[2])
{
    if constexpr (BRAIN<Element>)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Two weights, rounded as the tensor cores take them; they are what the sum counts, so that all weights make one.
__device__ __forceinline__ Word pack(float& low, float& high)
{
    const Element pair[2] = {Element(low), Element(high)};
    low = float(pair[0]);
    high = float(pair[1]);
    Word packed;
    memcpy(&packed, pair, sizeof(packed));
    return packed;
}

__device__ __forceinline__ Word turned(Word matrix)
{
    Word other;
    asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(other) : "r"(matrix));
    return other;
}

// What a warp has seen. A lane has heads 2t and 2t + 1, t = lane % 4, of each eight, and of every 16 elements of the
// output those at lane / 4 and 8 further: 0 and 1 are the first, 2 and 3 the second, of both heads.
struct Seen {
    float top[COLUMNS][2], sum[COLUMNS][2], out[COLUMNS][D / 16][4];

    __device__ Seen() : sum{}, out{}
    {
#pragma unroll
        for (int n = 0; n < COLUMNS; ++n) top[n][0] = top[n][1] = -INFINITY;
    }
};

struct Query {
    Word b[COLUMNS][D / 16][2];

    __device__ void load(const Shared& m, int slot)
    {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int n = 0; n < COLUMNS; ++n) {
            const int head = 8 * n + lane / 4;
            const Word* row = reinterpret_cast<const Word*>(m.queries[slot][head < GROUP ? head : 0]) + lane % 4;
#pragma unroll
            for (int k = 0; k < D / 16; ++k) {
                b[n][k][0] = head < GROUP ? row[8 * k] : 0;
                b[n][k][1] = head < GROUP ? row[8 * k + 4] : 0;
            }
        }
    }
};

// Tokens 2 tile and 2 tile + 1 of every copy of a stage that holds `count` tokens.
__device__ __forceinline__ void look(
    const Shared& m, int slot, int tile, int count, const Query& query, Seen& seen, float scale)
{
    const int lane = threadIdx.x % 32, copy = lane % 8;
    const auto row = [&](int kind, int token, int half) {
        const bool there = token < min(PIECE, count - copy * PIECE);
        const Word from = address(m.ring[slot][kind]) + copy * APART + token * ROW;
        return (there ? from : address(m.zeros) + copy * 16) + half * 16;
    };
    const Word key = row(0, 2 * tile + lane / 8 % 2, lane / 16), value = row(1, 2 * tile + lane / 16, lane / 8 % 2);

    float score[COLUMNS][2][4] = {};
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
        Word a[4];
        load<false>(a, key + 32 * k);
#pragma unroll
        for (int n = 0; n < COLUMNS; ++n) mma(score[n][k % 2], a, query.b[n][k]);
    }

    const int tokens = min(PIECE, count - lane / 4 * PIECE);
    Word weights[COLUMNS][2];
#pragma unroll
    for (int n = 0; n < COLUMNS; ++n) {
        float p[4], next[2];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            p[i] = 2 * tile + i / 2 < tokens ? (score[n][0][i] + score[n][1][i]) * scale : -INFINITY;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            next[h] = fmaxf(seen.top[n][h], fmaxf(p[h], p[2 + h]));
#pragma unroll
            for (int offset = 4; offset < 32; offset *= 2)
                next[h] = fmaxf(next[h], __shfl_xor_sync(ALL_LANES, next[h], offset));
        }
        if (__any_sync(ALL_LANES, next[0] > seen.top[n][0] || next[1] > seen.top[n][1])) {
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const float keep = weight(seen.top[n][h], next[h]);
                seen.top[n][h] = next[h];
                seen.sum[n][h] *= keep;
#pragma unroll
                for (int d = 0; d < D / 16; ++d) {
                    seen.out[n][d][h] *= keep;
                    seen.out[n][d][2 + h] *= keep;
                }
            }
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) p[i] = weight(p[i], next[i % 2]);
        weights[n][0] = turned(pack(p[0], p[1]));
        weights[n][1] = turned(pack(p[2], p[3]));
        seen.sum[n][0] += p[0] + p[2];
        seen.sum[n][1] += p[1] + p[3];
    }

#pragma unroll
    for (int d = 0; d < D / 16; ++d) {
        Word a[4];
        load<true>(a, value + 32 * d);
#pragma unroll
        for (int n = 0; n < COLUMNS; ++n) mma(seen.out[n][d], a, weights[n]);
    }
}

// -- merging ----------------------------------------------------------------------------------------------------------
__device__ __forceinline__ void meet()  // of the warps that look
{
    asm volatile("bar.sync 1, %0;" ::"n"(32 * WARPS) : "memory");
}

__device__ __forceinline__ void put(Shared& m, Seen& seen)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int n = 0; n < COLUMNS; ++n) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int head = 8 * n + lane % 4 * 2 + h;
#pragma unroll
            for (int offset = 4; offset < 32; offset *= 2)
                seen.sum[n][h] += __shfl_xor_sync(ALL_LANES, seen.sum[n][h], offset);
            if (head >= GROUP) continue;
            if (lane < 4) {
                m.tops[warp][head] = seen.top[n][h];
                m.sums[warp][head] = seen.sum[n][h];
            }
#pragma unroll
            for (int d = 0; d < D / 16; ++d) {
                m.heads[warp][head][16 * d + lane / 4] = seen.out[n][d][h];
                m.heads[warp][head][16 * d + 8 + lane / 4] = seen.out[n][d][2 + h];
            }
        }
    }
}

// All warps' shares of element d of head g; maximum and sum come with it.
__device__ __forceinline__ float merged(const Shared& m, int g, int d, float& most, float& total)
{
    float x = 0.0f;
    most = -INFINITY;
    total = 0.0f;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) most = fmaxf(most, m.tops[w][g]);
#pragma unroll
    for (int w = 0; w < WARPS; ++w) {
        const float part = weight(m.tops[w][g], most);
        total += part * m.sums[w][g];
        x += part * m.heads[w][g][d];
    }
    return x;
}

// Four elements of all parts of a sequence, added up in order: the same sum whoever is last.
__device__ __forceinline__ void gather(const float* partial, Element* out, const Shares& cut, int quad)
{
    const int g = quad / (D / 4), d = quad % (D / 4) * 4;
    float most = -INFINITY, total = 0.0f, x[4] = {};
#pragma unroll 1
    for (int first = cut.from; first <= cut.to; first += AT_ONCE) {
        float next = most;
        float2 ends[AT_ONCE];  // maximum and sum
        float4 seen[AT_ONCE];
#pragma unroll
        for (int c = 0; c < AT_ONCE; ++c) {
            const int block = first + c;
            const bool there = block <= cut.to;
            const float* record = partial + ((2LL * block + (block == cut.from)) * GROUP + g) * RECORD;
            ends[c] = there ? __ldcg(reinterpret_cast<const float2*>(record + D)) : make_float2(-INFINITY, 0.0f);
            seen[c] = there ? __ldcg(reinterpret_cast<const float4*>(record + d)) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
#pragma unroll
        for (int c = 0; c < AT_ONCE; ++c) next = fmaxf(next, ends[c].x);
        const float keep = weight(most, next);
        most = next;
        total *= keep;
#pragma unroll
        for (int k = 0; k < 4; ++k) x[k] *= keep;
#pragma unroll
        for (int c = 0; c < AT_ONCE; ++c) {
            const float part = weight(ends[c].x, most);
            total += part * ends[c].y;
            x[0] += part * seen[c].x;
            x[1] += part * seen[c].y;
            x[2] += part * seen[c].z;
            x[3] += part * seen[c].w;
        }
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) out[((long long)cut.head * GROUP + g) * D + d + k] = Element(x[k] / total);
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) paged_attention_bulk_ring(
    const ELEMENT* q, const ELEMENT* keys, const ELEMENT* values, const int* tables, const int* lengths, ELEMENT* out,
    float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    extern __shared__ __align__(128) unsigned char memory[];
    Shared& m = *reinterpret_cast<Shared*>(memory);
    let_the_next_begin();  // all blocks are there at once, so the next kernel's take nothing that these still want
    const int t = threadIdx.x, warp = t / 32, b = blockIdx.x;

    if (t == 0) {
        for (int i = 0; i < STAGES; ++i) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&m.full[i])) : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                         ::"r"(address(&m.empty[i])), "n"(READERS) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        m.cut[0] = m.cut[1] = {-1, 0, 0, 0};
    }
    for (int i = t; i < int(sizeof(m.zeros)) / 4; i += THREADS) reinterpret_cast<Word*>(m.zeros)[i] = 0;
    if (!FIXED_PAST) wait_for_those_in_front();
    Walk walk(lengths, S, K);
    __syncthreads();
    if (warp == WARPS) {
        if (FIXED_PAST) fill(m, walk, true, q, keys, values, tables, table_width);
        wait_for_those_in_front();
        fill(m, walk, false, q, keys, values, tables, table_width);
        return;
    }
    wait_for_those_in_front();

    for (int s = b; s < S; s += gridDim.x)
        if (lengths[s] == 0)
#pragma unroll 1
            for (int i = t; i < K * GROUP * D; i += 32 * WARPS) out[(long long)s * K * GROUP * D + i] = Element(0.0f);

    bool cut = false;
    for (Word stage = 0; walk.there(); walk.next()) {
        const int begin = walk.begin(), end = walk.end();
        if (begin >= end) continue;
        Query query;
        Seen seen;
        for (int base = begin; base < end; base += STEP, ++stage) {
            const int slot = stage % STAGES;
            const int first = TILES < WARPS ? (warp + WARPS - stage * TILES % WARPS) % WARPS : warp;
            if (first >= TILES) continue;
            wait(&m.full[slot], stage / STAGES & 1);
            __syncwarp();  // the tensor cores want all lanes at once
            if (base < begin + TEAMS * STEP) query.load(m, slot);
            for (int tile = first; tile < TILES; tile += WARPS)
                look(m, slot, tile, end - base, query, seen, scale * LOG2E);
            __syncwarp();
            if (t % 32 == 0)
                asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(&m.empty[slot])) : "memory");
        }

        meet();  // the part before has been read
        put(m, seen);
        meet();
        const int head = walk.s * K + walk.kv;
        const bool whole = begin == 0 && end == walk.length;
        for (int i = t; i < GROUP * D; i += 32 * WARPS) {
            const int g = i / D, d = i % D;
            float most, total;
            const float x = merged(m, g, d, most, total);
            if (whole) {
                out[((long long)head * GROUP + g) * D + d] = Element(x / total);
            } else {
                float* record = partial + ((2LL * b + (begin == 0)) * GROUP + g) * RECORD;
                record[d] = x;
                if (d < 2) record[D + d] = d ? total : most;
            }
        }
        if (whole) continue;
        cut = true;
        if (t == 0) m.cut[begin == 0] = {head, walk.first(), walk.last(), 0};
    }

    // At the end, and both at once: what waits for memory here would wait between two parts as well.
    if (!cut) return;
    __threadfence();  // the parts' records before the counts that say they are there
    meet();
    if (t < 2 && m.cut[t].head >= 0) {
        int& count = arrived[m.cut[t].head];
        m.cut[t].mine = atomicAdd(&count, 1) == m.cut[t].to - m.cut[t].from;
        if (m.cut[t].mine) count = 0;  // ready for the next launch
    }
    meet();
    if (!m.cut[0].mine && !m.cut[1].mine) return;
    __threadfence();
#pragma unroll 1
    for (int i = t; i < 2 * QUADS; i += 32 * WARPS)
        if (m.cut[i / QUADS].mine) gather(partial, out, m.cut[i / QUADS], i % QUADS);
}
