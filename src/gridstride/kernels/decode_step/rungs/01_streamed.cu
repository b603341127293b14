// 01 streamed: all layers of a decoder in one launch, for one sequence; the weights never stop flowing.
//
// Moves: launches per token, from 9 for each layer to one for many tokens; time in which memory idles because a product
//   waits for the one before it, to almost none: a ring of 192 KB per multiprocessor is filled with the next weights
//   while the current ones wait for their input.
// Mapping: one block per multiprocessor; block b of B owns a 1/B-th of the rows of every matrix, packed for it in one
//   stream (packing.py) in the order of use. One thread keeps bulk copies of 16 KB on their way into the ring; the warps split
//   the columns of a row tile and multiply by tensor cores: A is the weights, 16 rows by 32 columns a tile, B the
//   activation, in its first column the upper and in its second the lower half of an fp32 value's leading 16 bits of
//   fraction (two bf16). Where a block owns 8 rows only, they are 16 of half the columns. Block b attends for query
//   head b / SPLITS to the tokens of split b % SPLITS.
//
// Blocks hand each other numbers as 8-byte messages, value and turn in one word, so that reading a message is waiting
// for it: one trip through L2 instead of a barrier's two. All blocks must be on the chip at once: the launch is
// cooperative. A buffer is written again only after every block has sent something that it computed from all of it.
//
// entry: decode_step_streamed
// block: 32*8
// grid: 128

#include <cuda_bf16.h>
#include <math.h>

#ifndef BLOCKS
#define BLOCKS 128
#define WARPS 8
#define WIDTH 1024
#define HIDDEN 3072
#define HEADS 16
#define KV_HEADS 8
#define HEAD_WIDTH 128
#define BLOCK_SIZE 16
#define STAGES 12
#define HEAD_GROUP 1  // row tiles of the output projection at a time
#endif
#ifndef AHEAD
#define AHEAD 1  // tokens whose keys and values a lane has on their way
#endif

typedef __nv_bfloat16 Element;
typedef unsigned long long Message;  // low half: a float's or an int's bits; high half: the turn it belongs to

__host__ __device__ constexpr int max3(int a, int b, int c) { return a > b ? (a > c ? a : c) : (b > c ? b : c); }

constexpr int THREADS = 32 * WARPS;
constexpr int TILE = 16 * 32 * 2;  // bytes: 16 rows by 32 columns
constexpr int STAGE_TILES = 16;
constexpr int STAGE = STAGE_TILES * TILE;
constexpr int D = HEAD_WIDTH;
constexpr int QKV = (HEADS + 2 * KV_HEADS) * D;
constexpr int SEEN = HEADS * D;  // what all heads saw
constexpr int QKV_ROWS = QKV / BLOCKS, OWN = WIDTH / BLOCKS, UNITS = HIDDEN / BLOCKS;  // of one block
constexpr int SPLITS = BLOCKS / HEADS;
constexpr int PART = D / SPLITS;  // of a head's output, that a block merges
constexpr int LANES = D / 8;  // that hold one token's row
constexpr int ROWS = 32 / LANES;  // tokens in a warp at a time
constexpr float LOG2E = 1.4426950408889634f;
constexpr unsigned int ALL_LANES = 0xffffffffu;
static_assert(QKV % (16 * BLOCKS) == 0 && WIDTH % (8 * BLOCKS) == 0 && HIDDEN % (8 * BLOCKS) == 0, "rows per block");
static_assert(WIDTH % (32 * WARPS) == 0 && SEEN % (64 * WARPS) == 0 && HIDDEN % (64 * WARPS) == 0, "columns per warp");
static_assert(BLOCKS % HEADS == 0 && D % SPLITS == 0 && 32 % LANES == 0, "heads per block");

// Tiles of each product: row tiles times column chunks, of 32 columns each (of half the columns where HALVES).
constexpr int QKV_TILES = QKV_ROWS / 16, QKV_CHUNKS = WIDTH / 32;
constexpr int OUT_TILES = OWN / 8, OUT_CHUNKS = SEEN / 64;
constexpr int UP_TILES = UNITS / 8, UP_CHUNKS = WIDTH / 32;
constexpr int DOWN_TILES = OWN / 8, DOWN_CHUNKS = HIDDEN / 64;
constexpr int LAYER_TILES =
    QKV_TILES * QKV_CHUNKS + OUT_TILES * OUT_CHUNKS + UP_TILES * UP_CHUNKS + DOWN_TILES * DOWN_CHUNKS;
constexpr int LAYER_STAGES = LAYER_TILES / STAGE_TILES;
constexpr int HEAD_STAGES = HEAD_GROUP * QKV_CHUNKS / STAGE_TILES;
static_assert(HEAD_GROUP * QKV_CHUNKS % STAGE_TILES == 0, "whole stages");
static_assert(QKV_TILES * QKV_CHUNKS % STAGE_TILES == 0 && OUT_TILES * OUT_CHUNKS % STAGE_TILES == 0, "whole stages");
static_assert(UP_TILES * UP_CHUNKS % STAGE_TILES == 0 && DOWN_TILES * DOWN_CHUNKS % STAGE_TILES == 0, "whole stages");

constexpr int MOST_AT_ONCE =
    max3(QKV_TILES * QKV_CHUNKS, UP_TILES * UP_CHUNKS, max3(OUT_TILES * OUT_CHUNKS, DOWN_TILES * DOWN_CHUNKS, 0));
static_assert(MOST_AT_ONCE <= STAGES * STAGE_TILES, "the ring holds a whole product: its stages go back together");

// Where messages lie.
constexpr int MAIL_QKV = 0;
constexpr int MAIL_PARTIAL = MAIL_QKV + QKV;
constexpr int MAIL_SEEN = MAIL_PARTIAL + BLOCKS * (D + 2);
constexpr int MAIL_MIDDLE = MAIL_SEEN + SEEN;  // residual stream behind attention
constexpr int MAIL_HIDDEN = MAIL_MIDDLE + WIDTH;
constexpr int MAIL_END = MAIL_HIDDEN + HIDDEN;  // residual stream behind the layer
constexpr int MAIL_BEST = MAIL_END + WIDTH;  // each block's likeliest token: logit, token
constexpr int MAIL_TOKEN = MAIL_BEST + 2 * BLOCKS;

constexpr int MOST_ACTIVE = SEEN > HIDDEN ? (SEEN > WIDTH ? SEEN : WIDTH) : (HIDDEN > WIDTH ? HIDDEN : WIDTH);
constexpr int TILE_SUMS = 16 * WARPS + 16;  // floats of a row tile's partial sums, padded against bank conflicts

struct __align__(16) Shared {
    unsigned char ring[STAGES * STAGE];
    Element active[2][MOST_ACTIVE];  // upper and lower halves of the product's input
    float seen[WARPS][D];
    float sums[max3(max3(QKV_TILES, UP_TILES, OUT_TILES), DOWN_TILES, HEAD_GROUP) * TILE_SUMS];
    float query[D];
    Element fresh[2][D];  // key and value of the new token
    float tops[WARPS], weights[WARPS], squares[WARPS];
    float merged[3][D];
    int token;
    unsigned long long full[STAGES];
};

static_assert(sizeof(Shared) <= 227 * 1024, "a Hopper multiprocessor has no more");

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

// -- messages ---------------------------------------------------------------------------------------------------------
__device__ __forceinline__ void send(Message* to, unsigned int bits, unsigned int turn)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"((Message)turn << 32 | bits) : "memory");
}

__device__ __forceinline__ void send(Message* to, float value, unsigned int turn)
{
    send(to, __float_as_uint(value), turn);
}

__device__ __forceinline__ Message look(const Message* at)
{
    Message m;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(m) : "l"(at) : "memory");
    return m;
}

// N messages, asked for together: one trip, not N.
template <int N> __device__ __forceinline__ void receive(
    const Message* const (&from)[N], unsigned int turn, float (&values)[N])
{
    Message m[N];
    bool waiting;
    do {
        waiting = false;
#pragma unroll
        for (int i = 0; i < N; ++i) m[i] = look(from[i]);
#pragma unroll
        for (int i = 0; i < N; ++i) waiting |= (unsigned int)(m[i] >> 32) != turn;
    } while (waiting);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = __uint_as_float((unsigned int)m[i]);
}

// COUNT messages by the whole block, two neighbours at a time: thread t has pairs t, t + THREADS ...
template <int COUNT> __device__ __forceinline__ void receive_all(
    const Message* from, unsigned int turn, float (&values)[(COUNT / 2 + THREADS - 1) / THREADS][2])
{
    constexpr int PAIRS = (COUNT / 2 + THREADS - 1) / THREADS;
    Message m[PAIRS][2];
    bool waiting;
    do {
        waiting = false;
#pragma unroll
        for (int i = 0; i < PAIRS; ++i) {
            const int pair = i * THREADS + threadIdx.x;
            if (pair < COUNT / 2)
                asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                             : "=l"(m[i][0]), "=l"(m[i][1]) : "l"(from + 2 * pair) : "memory");
        }
#pragma unroll
        for (int i = 0; i < PAIRS; ++i)
            if (i * THREADS + threadIdx.x < COUNT / 2)
                waiting |= (unsigned int)(m[i][0] >> 32) != turn || (unsigned int)(m[i][1] >> 32) != turn;
    } while (waiting);
#pragma unroll
    for (int i = 0; i < PAIRS; ++i) {
        values[i][0] = __uint_as_float((unsigned int)m[i][0]);
        values[i][1] = __uint_as_float((unsigned int)m[i][1]);
    }
}

// -- the ring of weights ----------------------------------------------------------------------------------------------
__device__ __forceinline__ void wait_full(Shared& s, unsigned int stage)
{
    const unsigned int barrier = address(&s.full[stage % STAGES]), parity = stage / STAGES & 1;
    unsigned int done;
    do {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    } while (!done);
    __syncwarp();  // the tensor cores want all lanes at once
}

struct Feeder {
    const unsigned char* stream;  // this block's weights
    unsigned int issued, per_step, in_step, all;
    unsigned long long policy;  // weights leave L2 first: they come once a token, and would push out the mail

    __device__ void feed(Shared& s, int count)
    {
        for (; count > 0 && issued < all; --count, ++issued) {
            const unsigned int slot = issued % STAGES, barrier = address(&s.full[slot]);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                         ::"r"(barrier), "r"(STAGE) : "memory");
            asm volatile(
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                "[%0], [%1], %2, [%3], %4;"
                ::"r"(address(s.ring + slot * STAGE)), "l"(stream + (size_t)in_step * STAGE), "r"(STAGE), "r"(barrier),
                "l"(policy)
                : "memory");
            if (++in_step == per_step) in_step = 0;
        }
    }
};

// -- products ---------------------------------------------------------------------------------------------------------
__device__ __forceinline__ void put_active(Shared& s, int pair, float a, float b)
{
    const __nv_bfloat162 upper = __floats2bfloat162_rn(a, b);
    const __nv_bfloat162 lower = __floats2bfloat162_rn(a - __low2float(upper), b - __high2float(upper));
    reinterpret_cast<__nv_bfloat162*>(s.active[0])[pair] = upper;
    reinterpret_cast<__nv_bfloat162*>(s.active[1])[pair] = lower;
}

__device__ __forceinline__ void mma(float (&c)[4], unsigned int a0, unsigned int a1, unsigned int a2, unsigned int a3,
                                    unsigned int b0, unsigned int b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// Partial sums of TILES row tiles, one set per warp, into s.sums. The input is in s.active, the weights in the ring
// from stage `first` on. With HALVES, rows 8 to 15 of a tile are rows 0 to 7 again, times the other half of the columns.
template <int TILES, int CHUNKS, bool HALVES> __device__ __forceinline__ void multiply(Shared& s, unsigned int first)
{
    constexpr int PER = CHUNKS / WARPS;
    static_assert(PER > 0 && CHUNKS % WARPS == 0, "every warp has chunks");
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    uint4 x[PER];
#pragma unroll
    for (int i = 0; i < PER; ++i) {
        const int column = (warp * PER + i) * 32 + t * 8 + (HALVES ? g / 2 * CHUNKS * 32 : 0);
        x[i] = g < (HALVES ? 4 : 2) ? *reinterpret_cast<const uint4*>(&s.active[g % 2][column]) : uint4{};
    }
    const unsigned int start = first % STAGES * STAGE_TILES;
#pragma unroll
    for (int tile = 0; tile < TILES; ++tile) {
        const int j = tile * CHUNKS + warp * PER;
        wait_full(s, first + j / STAGE_TILES);
        if (j / STAGE_TILES != (j + PER - 1) / STAGE_TILES) wait_full(s, first + (j + PER - 1) / STAGE_TILES);
        float even[4] = {}, odd[4] = {};
#pragma unroll
        for (int i = 0; i < PER; ++i) {
            unsigned int at = start + j + i;
            if (at >= STAGES * STAGE_TILES) at -= STAGES * STAGE_TILES;
            const uint4* a = reinterpret_cast<const uint4*>(s.ring + at * TILE) + lane;
            const uint4 low = a[0], high = a[32];
            mma(even, low.x, high.x, low.y, high.y, x[i].x, x[i].y);
            mma(odd, low.z, high.z, low.w, high.w, x[i].z, x[i].w);
        }
        float* sums = s.sums + tile * TILE_SUMS + warp * 16;
        if (t == 0) sums[g] = even[0] + odd[0] + (even[1] + odd[1]);
        if (t == (HALVES ? 1 : 0)) sums[8 + g] = even[2] + odd[2] + (even[3] + odd[3]);
    }
}

__device__ __forceinline__ float row_sum(const Shared& s, int tile, int row)
{
    float sum[4] = {};  // four chains of additions instead of a long one
#pragma unroll
    for (int w = 0; w < WARPS; ++w) sum[w % 4] += s.sums[tile * TILE_SUMS + w * 16 + row];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

__device__ __forceinline__ float warp_sum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(ALL_LANES, value, offset);
    return value;
}

// 1 / rms of the input whose squares the warps have left in shared memory: applied behind the product, which is linear.
__device__ __forceinline__ float inverse_rms(const Shared& s, float eps)
{
    float sum[4] = {};
#pragma unroll
    for (int w = 0; w < WARPS; ++w) sum[w % 4] += s.squares[w];
    return rsqrtf(((sum[0] + sum[1]) + (sum[2] + sum[3])) / WIDTH + eps);
}

// -- attention --------------------------------------------------------------------------------------------------------
__device__ __forceinline__ float share(float top, float all)
{
    return top == -INFINITY ? 0.0f : exp2f(top - all);
}

struct Cache {
    Element* keys;  // of the layer, [blocks, KV_HEADS, BLOCK_SIZE, D]
    Element* values;
    const int* table;
    long long ahead[AHEAD];  // where the rows of this lane's first tokens begin: the same in every layer

    __device__ long long row(int token, int kv) const
    {
        return (((long long)table[token / BLOCK_SIZE] * KV_HEADS + kv) * BLOCK_SIZE + token % BLOCK_SIZE) * D;
    }
};

// Which tokens a lane looks at: first_token(), and every STEP-th after it.
constexpr int STEP = SPLITS * WARPS * ROWS;

__device__ __forceinline__ int first_token()
{
    return (blockIdx.x % SPLITS * WARPS + threadIdx.x / 32) * ROWS + threadIdx.x % 32 / LANES;
}

__device__ __forceinline__ int key_head()
{
    return blockIdx.x / SPLITS / (HEADS / KV_HEADS);
}

__device__ __forceinline__ void prefetch(const void* address)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

__device__ __forceinline__ void attend(
    Shared& s, const Cache& cache, Message* mail, unsigned int turn, int position, float cosine, float sine,
    float scale)
{
    const int b = blockIdx.x, head = b / SPLITS, split = b % SPLITS, kv = head / (HEADS / KV_HEADS);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = lane / LANES, column = lane % LANES * 8;
    const int first = first_token();

    uint4 key[AHEAD], value[AHEAD];
#pragma unroll
    for (int u = 0; u < AHEAD; ++u) {
        const int token = first + u * STEP;
        key[u] = value[u] = uint4{};
        if (token < position) {
            key[u] = __ldcg(reinterpret_cast<const uint4*>(cache.keys + cache.ahead[u] + column));
            value[u] = __ldcg(reinterpret_cast<const uint4*>(cache.values + cache.ahead[u] + column));
        }
    }

    // The new token: thread i has elements i and i + D/2 of the query, then of the key, then of the value.
    for (int i = threadIdx.x; i < 3 * D / 2; i += THREADS) {
        const int which = i / (D / 2), d = i % (D / 2);
        const int from = which == 0 ? head * D : (HEADS + (which - 1) * KV_HEADS + kv) * D;
        const Message* const at[2] = {mail + MAIL_QKV + from + d, mail + MAIL_QKV + from + D / 2 + d};
        float pair[2];
        receive(at, turn, pair);
        const float low = pair[0], high = pair[1];
        const float turned_low = low * cosine - high * sine, turned_high = high * cosine + low * sine;
        if (which == 0) {
            s.query[d] = turned_low * scale * LOG2E;
            s.query[D / 2 + d] = turned_high * scale * LOG2E;
        } else {
            s.fresh[which - 1][d] = Element(which == 1 ? turned_low : low);
            s.fresh[which - 1][D / 2 + d] = Element(which == 1 ? turned_high : high);
        }
    }
    __syncthreads();

    if (split == 0 && head % (HEADS / KV_HEADS) == 0 && threadIdx.x < 2 * LANES) {
        Element* to = (threadIdx.x < LANES ? cache.keys : cache.values) + cache.row(position, kv) + column;
        *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(&s.fresh[threadIdx.x / LANES][column]);
        __threadfence();
    }

    float query[8], seen[8] = {}, top = -INFINITY, sum = 0.0f;
#pragma unroll
    for (int e = 0; e < 8; ++e) query[e] = s.query[column + e];
    for (int base = first; base - row - warp * ROWS <= position; base += AHEAD * STEP) {
        if (base != first) {
#pragma unroll
            for (int u = 0; u < AHEAD; ++u) {
                const int token = base + u * STEP;
                key[u] = value[u] = uint4{};
                if (token < position) {
                    const long long at = cache.row(token, kv) + column;
                    key[u] = __ldcg(reinterpret_cast<const uint4*>(cache.keys + at));
                    value[u] = __ldcg(reinterpret_cast<const uint4*>(cache.values + at));
                }
            }
        }
        float score[AHEAD], next = top;
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            const int token = base + u * STEP;
            if (token == position) {
                key[u] = *reinterpret_cast<const uint4*>(&s.fresh[0][column]);
                value[u] = *reinterpret_cast<const uint4*>(&s.fresh[1][column]);
            }
            const Element* k = reinterpret_cast<const Element*>(&key[u]);
            float dot = 0.0f;
#pragma unroll
            for (int e = 0; e < 8; ++e) dot += query[e] * float(k[e]);
#pragma unroll
            for (int offset = LANES / 2; offset > 0; offset /= 2) dot += __shfl_xor_sync(ALL_LANES, dot, offset);
            score[u] = token <= position ? dot : -INFINITY;
            next = fmaxf(next, score[u]);
        }
        const float keep = share(top, next);
        top = next;
        sum *= keep;
#pragma unroll
        for (int e = 0; e < 8; ++e) seen[e] *= keep;
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            const Element* v = reinterpret_cast<const Element*>(&value[u]);
            const float p = share(score[u], next);
            sum += p;
#pragma unroll
            for (int e = 0; e < 8; ++e) seen[e] += p * float(v[e]);
        }
    }

    // Rows of a warp, warps of the block.
#pragma unroll
    for (int offset = LANES; offset < 32; offset *= 2) {
        const float other = __shfl_xor_sync(ALL_LANES, top, offset), next = fmaxf(top, other);
        const float mine = share(top, next), theirs = share(other, next);
        sum = sum * mine + __shfl_xor_sync(ALL_LANES, sum, offset) * theirs;
#pragma unroll
        for (int e = 0; e < 8; ++e) seen[e] = seen[e] * mine + __shfl_xor_sync(ALL_LANES, seen[e], offset) * theirs;
        top = next;
    }
    if (row == 0) {
#pragma unroll
        for (int e = 0; e < 8; ++e) s.seen[warp][column + e] = seen[e];
        if (column == 0) {
            s.tops[warp] = top;
            s.weights[warp] = sum;
        }
    }
    __syncthreads();

    // Splits of the head: each block merges a part of its elements.
    Message* partial = mail + MAIL_PARTIAL;
    if (threadIdx.x < D) {
        const int d = threadIdx.x;
        float most = -INFINITY, total = 0.0f, x = 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; ++w) most = fmaxf(most, s.tops[w]);
#pragma unroll
        for (int w = 0; w < WARPS; ++w) {
            const float p = share(s.tops[w], most);
            total += p * s.weights[w];
            x += p * s.seen[w][d];
        }
        send(partial + b * (D + 2) + d, x, turn);
        if (d < 2) send(partial + b * (D + 2) + D + d, d ? total : most, turn);

        const int peer = d / PART;
        const Message* theirs = partial + (head * SPLITS + peer) * (D + 2);
        const Message* const at[3] = {theirs + split * PART + d % PART, theirs + D, theirs + D + 1};
        float found[3];
        receive(at, turn, found);
        for (int i = 0; i < 3; ++i) s.merged[i][d] = found[i];
    }
    __syncthreads();
    if (threadIdx.x < PART) {
        float most = -INFINITY, total = 0.0f, x = 0.0f;
#pragma unroll
        for (int p = 0; p < SPLITS; ++p) most = fmaxf(most, s.merged[1][p * PART]);
#pragma unroll
        for (int p = 0; p < SPLITS; ++p) {
            const float weight = share(s.merged[1][p * PART], most);
            total += weight * s.merged[2][p * PART];
            x += weight * s.merged[0][p * PART + threadIdx.x];
        }
        send(mail + MAIL_SEEN + head * D + split * PART + threadIdx.x, x / total, turn);
    }
}

// -- the whole --------------------------------------------------------------------------------------------------------
// A product's input from the residual stream: times the norm's weight here, over its rms behind the product.
constexpr int PAIRS = (WIDTH / 2 + THREADS - 1) / THREADS;

struct Norm {
    __nv_bfloat162 weight[PAIRS];  // of this thread's elements

    __device__ void load(const Element* from)
    {
#pragma unroll
        for (int i = 0; i < PAIRS; ++i)
            if (i * THREADS + threadIdx.x < WIDTH / 2)
                weight[i] = reinterpret_cast<const __nv_bfloat162*>(from)[i * THREADS + threadIdx.x];
    }
};

__device__ __forceinline__ void put_normed(Shared& s, const float (&x)[PAIRS][2], const Norm& norm)
{
    float squares = 0.0f;
#pragma unroll
    for (int i = 0; i < PAIRS; ++i) {
        const int pair = i * THREADS + threadIdx.x;
        if (pair < WIDTH / 2) {
            const __nv_bfloat162 w = norm.weight[i];
            squares += x[i][0] * x[i][0] + x[i][1] * x[i][1];
            put_active(s, pair, x[i][0] * __low2float(w), x[i][1] * __high2float(w));
        }
    }
    squares = warp_sum(squares);
    if (threadIdx.x % 32 == 0) s.squares[threadIdx.x / 32] = squares;
    __syncthreads();
}

template <int COUNT> __device__ __forceinline__ void put_received(Shared& s, const Message* from, unsigned int turn)
{
    float values[(COUNT / 2 + THREADS - 1) / THREADS][2];
    receive_all<COUNT>(from, turn, values);
#pragma unroll
    for (int i = 0; i < (COUNT / 2 + THREADS - 1) / THREADS; ++i) {
        const int pair = i * THREADS + threadIdx.x;
        if (pair < COUNT / 2) put_active(s, pair, values[i][0], values[i][1]);
    }
    __syncthreads();
}

#ifdef TIMES
#define MARK(place) if (t == 0 && layer == TIMES) marks[place] = clock64();
#else
#define MARK(place)
#endif

extern "C" __global__ void __launch_bounds__(THREADS, 1) decode_step_streamed(
    const unsigned char* __restrict__ stream, const Element* __restrict__ norms, const Element* __restrict__ embedding,
    const float* __restrict__ cosine, const float* __restrict__ sine, Element* keys, Element* values,
    const int* __restrict__ table, long long* tokens, long long* positions, Message* mail, unsigned int* turns,
    float* __restrict__ logits, long long* __restrict__ drawn, int layers, int vocabulary, int head_tiles,
    long long layer_elements, int steps, int greedy, float eps, float scale)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Shared& s = *reinterpret_cast<Shared*>(memory);
    const int b = blockIdx.x, t = threadIdx.x;

    const unsigned int per_step = layers * LAYER_STAGES + head_tiles * QKV_CHUNKS / STAGE_TILES;
    Feeder feeder = {stream + (size_t)b * per_step * STAGE, 0, per_step, 0, per_step * steps, 0};
    const bool feeds = t == THREADS - 32;  // in the last warp: the first ones have sums to add up and send
    if (feeds) {
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(feeder.policy));
        for (int i = 0; i < STAGES; ++i)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&s.full[i])) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        feeder.feed(s, STAGES);
    }
#ifdef TIMES
    long long marks[11];
#endif
    unsigned int stage = 0;  // first one of the next product
    unsigned int turn = *turns;
    int token = int(tokens[0]);
    const int start = int(positions[0]);
    __syncthreads();

    for (int step = 0; step < steps; ++step) {
        const int position = start + step;
        const float cos_mine = cosine[(size_t)position * (D / 2) + t % (D / 2)];
        const float sin_mine = sine[(size_t)position * (D / 2) + t % (D / 2)];
        float x[PAIRS][2];
#pragma unroll
        for (int i = 0; i < PAIRS; ++i) {
            const int pair = i * THREADS + t;
            if (pair < WIDTH / 2) {
                const Element* row = embedding + (size_t)token * WIDTH;
                const __nv_bfloat162 e = reinterpret_cast<const __nv_bfloat162*>(row)[pair];
                x[i][0] = __low2float(e);
                x[i][1] = __high2float(e);
            }
        }
        float own = t < OWN ? float(embedding[(size_t)token * WIDTH + b * OWN + t]) : 0.0f;

        Cache cache = {keys, values, table, {}};
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            const int seen = first_token() + u * STEP;
            if (seen < position) cache.ahead[u] = cache.row(seen, key_head());
        }
        Norm norm;
        norm.load(norms);

        for (int layer = 0; layer < layers; ++layer, cache.keys += layer_elements, cache.values += layer_elements) {
            ++turn;
            MARK(0)
            put_normed(s, x, norm);
            norm.load(norms + (size_t)(2 * layer + 1) * WIDTH);  // comes while others are waited for
            if (layer + 1 < layers && t % 8 == 0) {  // eight lanes read a line of 128 bytes
#pragma unroll
                for (int u = 0; u < AHEAD; ++u) {
                    if (first_token() + u * STEP < position) {
                        const long long at = cache.ahead[u] + layer_elements + t % 32 % LANES * 8;
                        prefetch(cache.keys + at);
                        prefetch(cache.values + at);
                    }
                }
            }
            MARK(1)
            multiply<QKV_TILES, QKV_CHUNKS, false>(s, stage);
            __syncthreads();
            if (feeds) feeder.feed(s, QKV_TILES * QKV_CHUNKS / STAGE_TILES);
            stage += QKV_TILES * QKV_CHUNKS / STAGE_TILES;
            if (t < QKV_ROWS)
                send(mail + MAIL_QKV + b * QKV_ROWS + t, row_sum(s, t / 16, t % 16) * inverse_rms(s, eps), turn);

            MARK(2)
            attend(s, cache, mail, turn, position, cos_mine, sin_mine, scale);

            MARK(3)
            put_received<SEEN>(s, mail + MAIL_SEEN, turn);
            MARK(4)
            multiply<OUT_TILES, OUT_CHUNKS, true>(s, stage);
            __syncthreads();
            if (feeds) feeder.feed(s, OUT_TILES * OUT_CHUNKS / STAGE_TILES);
            stage += OUT_TILES * OUT_CHUNKS / STAGE_TILES;
            if (t < OWN) {
                own += row_sum(s, t / 8, t % 8) + row_sum(s, t / 8, 8 + t % 8);
                send(mail + MAIL_MIDDLE + b * OWN + t, own, turn);
            }

            MARK(5)
            receive_all<WIDTH>(mail + MAIL_MIDDLE, turn, x);
            MARK(6)
            put_normed(s, x, norm);
            norm.load(norms + (size_t)(2 * layer + 2) * WIDTH);
            multiply<UP_TILES, UP_CHUNKS, false>(s, stage);
            __syncthreads();
            if (feeds) feeder.feed(s, UP_TILES * UP_CHUNKS / STAGE_TILES);
            stage += UP_TILES * UP_CHUNKS / STAGE_TILES;
            if (t < UNITS) {  // rows 0 to 7 of a tile are gates, 8 to 15 what they let through
                const float scale_of_x = inverse_rms(s, eps);
                const float gate = row_sum(s, t / 8, t % 8) * scale_of_x;
                const float up = row_sum(s, t / 8, 8 + t % 8) * scale_of_x;
                send(mail + MAIL_HIDDEN + b * UNITS + t, gate / (1.0f + __expf(-gate)) * up, turn);
            }

            MARK(7)
            put_received<HIDDEN>(s, mail + MAIL_HIDDEN, turn);
            MARK(8)
            multiply<DOWN_TILES, DOWN_CHUNKS, true>(s, stage);
            __syncthreads();
            if (feeds) feeder.feed(s, DOWN_TILES * DOWN_CHUNKS / STAGE_TILES);
            stage += DOWN_TILES * DOWN_CHUNKS / STAGE_TILES;
            if (t < OWN) {
                own += row_sum(s, t / 8, t % 8) + row_sum(s, t / 8, 8 + t % 8);
                send(mail + MAIL_END + b * OWN + t, own, turn);
            }
            MARK(9)
            receive_all<WIDTH>(mail + MAIL_END, turn, x);
            MARK(10)
        }

        ++turn;
        put_normed(s, x, norm);
        const float scale_of_x = inverse_rms(s, eps);
        float best = -INFINITY;
        int best_token = vocabulary;
        for (int tile = 0; tile < head_tiles; tile += HEAD_GROUP) {
            multiply<HEAD_GROUP, QKV_CHUNKS, false>(s, stage);
            __syncthreads();
            if (feeds) feeder.feed(s, HEAD_STAGES);
            stage += HEAD_STAGES;
            if (t < 16 * HEAD_GROUP) {
                const int row = (b * head_tiles + tile) * 16 + t;
                const float logit = row_sum(s, t / 16, t % 16) * scale_of_x;
                if (row < vocabulary) {
                    logits[row] = logit;
                    if (!(logit <= best)) {  // NaN wins, and stays
                        if (best == best) {
                            best = logit;
                            best_token = row;
                        }
                    }
                }
            }
            __syncthreads();
        }
        if (!greedy) break;

        if (t < 32) {
            for (int offset = 16; offset > 0; offset /= 2) {
                const float other = __shfl_xor_sync(ALL_LANES, best, offset);
                const int other_token = __shfl_xor_sync(ALL_LANES, best_token, offset);
                if (best == best && (!(other <= best) || (other == best && other_token < best_token))) {
                    best = other;
                    best_token = other_token;
                }
            }
            if (t == 0) {
                send(mail + MAIL_BEST + 2 * b, best, turn);
                send(mail + MAIL_BEST + 2 * b + 1, (unsigned int)best_token, turn);
            }
            if (b == 0) {
                best = -INFINITY;
                best_token = vocabulary;
                for (int peer = t; peer < BLOCKS; peer += 32) {  // ascending: of equals the first stays
                    const Message* const at[2] = {mail + MAIL_BEST + 2 * peer, mail + MAIL_BEST + 2 * peer + 1};
                    float found[2];
                    receive(at, turn, found);
                    const float other = found[0];
                    const int other_token = __float_as_int(found[1]);
                    if (best == best && (!(other <= best) || (other == best && other_token < best_token))) {
                        best = other;
                        best_token = other_token;
                    }
                }
                for (int offset = 16; offset > 0; offset /= 2) {
                    const float other = __shfl_xor_sync(ALL_LANES, best, offset);
                    const int other_token = __shfl_xor_sync(ALL_LANES, best_token, offset);
                    if (best == best && (!(other <= best) || (other == best && other_token < best_token))) {
                        best = other;
                        best_token = other_token;
                    }
                }
                if (t == 0) {
                    const bool sound = fabsf(best) < INFINITY;
                    drawn[step] = sound ? best_token : -1;
                    send(mail + MAIL_TOKEN, (unsigned int)(sound ? best_token : 0), turn);
                }
            }
            if (t == 0) {
                const Message* const at[1] = {mail + MAIL_TOKEN};
                float found[1];
                receive(at, turn, found);
                s.token = __float_as_int(found[0]);
            }
        }
        __syncthreads();
        token = s.token;
        __threadfence();  // what other blocks have put into the cache is to be seen from here on
    }
#ifdef TIMES
    if (t == 0)
        for (int i = 0; i < 10; ++i) logits[b * 10 + i] = float(marks[i + 1] - marks[i]);
#endif
    if (b == 0 && t == 0) {  // every block has long read them
        *turns = turn;
        if (greedy) {
            tokens[0] = token;
            positions[0] = start + steps;
        }
    }
}
