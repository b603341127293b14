// 02 specialised: each warp has one job. One feeds the ring, one talks with the other blocks, the rest multiply.
//
// Moves: polling, from every thread for 8-byte messages to one 16-byte load of four values a thread; block-wide barriers,
//   from ten a layer to none; the weights of the next product from shared memory into registers while its input is
//   still on its way; the queue in front of L2, from a whole ring of copies to WINDOW of them, in paces; writers of a
//   line of L2 that others ask for, from four or more to one.
// Mapping: rows and columns over blocks and warps as in 01; a warp's tiles of a product lie together (packing.py,
//   by_warp). A multiplying warp waits for its own columns of the input only and leaves its partial sums; the talking
//   warp adds them up, ends the product and sends.
//
// A message is one word: a float whose lowest bit says whether its turn is odd. Every word is written in every layer, so
// one bit tells this turn's from the last one's; it costs the value a 2^-23 of itself, and makes a NaN of infinity. All
// blocks must be on the chip at once: the launch is cooperative. A word is written again only after every block has
// sent something that it computed from all of the words before.
//
// entry: decode_step_specialised
// block: 32*10
// grid: 128

#include <cuda_bf16.h>
#include <math.h>

#ifndef BLOCKS
#define BLOCKS 128
#define WARPS 8  // that multiply
#define WIDTH 1024
#define HIDDEN 3072
#define HEADS 16
#define KV_HEADS 8
#define HEAD_WIDTH 128
#define BLOCK_SIZE 16
#define STAGES 12
#define HEAD_GROUP 3  // row tiles of the output projection at a time
#endif
#ifndef WINDOW
#define WINDOW 3  // copies of weights on their way at a time: more only lengthen the queue that messages wait in
#endif
#ifndef PIECES
#define PIECES 2  // copies of which a stage is made
#endif
#ifndef LAYER_CYCLES
#define LAYER_CYCLES 17000  // over which a layer's weights are spread: a burst of copies is a queue before every message
#endif
#ifndef COPIES
#define COPIES 1  // of what all blocks wait for, each for its part of the blocks: a line of L2 serves one at a time
#endif
#ifndef LINE
#define LINE 32  // words: what a block sends begins a line, as every write to a line holds up all who ask for it
#endif
// Cycles before a warp first looks for a message: it cannot be there at once, and an answer takes a thousand cycles.
#ifndef DELAY
#define DELAY 500  // for the residual stream
#endif
#ifndef LATER
#define LATER 1000  // for what heads saw and for hidden units
#endif
#ifndef QUERY
#define QUERY 1100  // for a query
#endif
#ifndef AHEAD
#define AHEAD 2  // tokens whose keys and values a lane has on their way
#endif

typedef __nv_bfloat16 Element;
typedef unsigned int Word;
typedef unsigned long long Message;  // low half: a float's or an int's bits; high half: the step it belongs to

__host__ __device__ constexpr int most(int a, int b) { return a > b ? a : b; }
__host__ __device__ constexpr int lined(int words) { return (words + LINE - 1) / LINE * LINE; }

constexpr int TALKER = WARPS, FEEDER = WARPS + 1, THREADS = 32 * (WARPS + 2);
constexpr int TILE = 16 * 32 * 2;  // bytes: 16 rows by 32 columns
constexpr int STAGE_TILES = 16;
constexpr int STAGE = STAGE_TILES * TILE;
constexpr int D = HEAD_WIDTH;
constexpr int QKV = (HEADS + 2 * KV_HEADS) * D;
constexpr int SEEN = HEADS * D;  // what all heads saw
constexpr int QKV_ROWS = QKV / BLOCKS, OWN = WIDTH / BLOCKS, UNITS = HIDDEN / BLOCKS;  // of one block
constexpr int SPLITS = BLOCKS / HEADS, GROUP = HEADS / KV_HEADS;
constexpr int PART = D / SPLITS;  // of a head's output, that a block merges
constexpr int PART_QUADS = PART / 4, HEAD_QUADS = D / 4;
constexpr int LANES = D / 8;  // that hold one token's row
constexpr int ROWS = 32 / LANES;  // tokens in a warp at a time
constexpr int STEP = SPLITS * WARPS * ROWS;  // a lane looks at every STEP-th token
constexpr float LOG2E = 1.4426950408889634f;
constexpr float NONE = -1e30f;  // the top score of no tokens: finite, as it is sent
constexpr unsigned int ALL_LANES = 0xffffffffu;
static_assert(QKV % (16 * BLOCKS) == 0 && WIDTH % (8 * BLOCKS) == 0 && HIDDEN % (8 * BLOCKS) == 0, "rows per block");
static_assert(WIDTH % (32 * WARPS) == 0 && SEEN % (64 * WARPS) == 0 && HIDDEN % (64 * WARPS) == 0, "columns per warp");
static_assert(BLOCKS % HEADS == 0 && D % (4 * SPLITS) == 0 && 32 % LANES == 0, "heads per block");

// A product: row tiles of a block, each times a warp's chunks of 32 columns; with HALVES rows 8 to 15 of a tile are rows
// 0 to 7 again, times the other half of the columns.
template <int TILES_, int COLUMNS, bool HALVES_> struct Product {
    static constexpr int TILES = TILES_, HALF_COUNT = HALVES_ ? 2 : 1;
    static constexpr bool HALVES = HALVES_;
    static constexpr int SPAN = COLUMNS / HALF_COUNT;  // columns between a row's halves
    static constexpr int PER = SPAN / 32 / WARPS;  // chunks of a warp
    static constexpr int SHARE = TILES * PER;  // tiles of a warp
    static constexpr int USED = TILES * PER * WARPS / STAGE_TILES;  // stages
    static constexpr int SLICE = 32 * PER;  // columns of a warp and a half
    static constexpr int QUADS = HALF_COUNT * SLICE / 4;  // fours of values that a warp waits for
    static constexpr int LOADS = (QUADS + 31) / 32;
    static_assert(PER > 0 && TILES * PER * WARPS % STAGE_TILES == 0 && USED <= STAGES && USED <= 32, "whole stages");
};
constexpr int CHUNKS = WIDTH / 32;
typedef Product<QKV_ROWS / 16, WIDTH, false> Qkv;
typedef Product<OWN / 8, SEEN, true> Out;
typedef Product<UNITS / 8, WIDTH, false> Up;
typedef Product<OWN / 8, HIDDEN, true> Down;
typedef Product<HEAD_GROUP, WIDTH, false> Head;
constexpr int LAYER_STAGES = Qkv::USED + Out::USED + Up::USED + Down::USED;
constexpr unsigned int PACE = LAYER_CYCLES / (LAYER_STAGES * PIECES);  // cycles from one copy to the next, at least
// A warp may take its weights of the next product while another still waits for its own of this one; were they in the
// same stage, the first would take the last round's copy for its own.
static_assert(most(most(Qkv::USED + Out::USED, Out::USED + Up::USED), most(Up::USED + Down::USED, Down::USED + Qkv::USED))
              <= STAGES, "the ring holds two products in a row");
// Groups of the output projection wait for no input, so a warp may be two ahead of another. It must find the ring full
// then, or have room for a third; else it gives back stages of a group that the other has yet to take.
static_assert(2 * Head::USED == STAGES || 3 * Head::USED <= STAGES, "the ring holds two groups exactly, or three");

// A vector that all blocks wait for, COPIES times: of each block EACH values, which begin a line.
template <int EACH_> struct Mail {
    static constexpr int EACH = EACH_, COPY = BLOCKS * lined(EACH);

    // Where a block's values lie in the copy that so many others read.
    static __device__ __forceinline__ int from(int block, int copy) { return copy * COPY + block * lined(EACH); }
    static __device__ __forceinline__ int at(int column) { return column / EACH * lined(EACH) + column % EACH; }
};
typedef Mail<PART> Seen;
typedef Mail<OWN> Residual;
typedef Mail<UNITS> Hidden;

// Where words lie; a turn's parity is in each.
constexpr int MAIL_QKV = 0;
constexpr int SPLIT = lined(PART + 4);  // of one split: its part of the output, top and total
constexpr int MAIL_PARTIAL = MAIL_QKV + QKV;
constexpr int MAIL_SEEN = MAIL_PARTIAL + BLOCKS * SPLITS * SPLIT;
constexpr int MAIL_MIDDLE = MAIL_SEEN + COPIES * Seen::COPY;  // residual stream behind attention
constexpr int MAIL_HIDDEN = MAIL_MIDDLE + COPIES * Residual::COPY;
constexpr int MAIL_END = MAIL_HIDDEN + COPIES * Hidden::COPY;  // residual stream behind the layer
constexpr int MAIL_BEST = MAIL_END + COPIES * Residual::COPY;  // messages: each block's likeliest token: logit, token
constexpr int MAIL_TIMES = MAIL_BEST + 4 * BLOCKS;

// Compiled with -DTIMES=n, each block leaves behind the mail at which clock it came where in layer n: its first
// multiplying warp in the first 16 numbers, its talker in the next 16.
#ifdef TIMES
#define MARK(place)                                                                                                    \
    if (layer == TIMES && (threadIdx.x == 0 || threadIdx.x == 32 * TALKER))                                           \
        reinterpret_cast<long long*>(m.mail + MAIL_TIMES)[blockIdx.x * 32 + threadIdx.x / (32 * TALKER) * 16 + place] \
            = clock64();
#define MARK_STEP(place)                                                                                               \
    if (threadIdx.x == 32 * TALKER)                                                                                    \
        reinterpret_cast<long long*>(m.mail + MAIL_TIMES)[blockIdx.x * 32 + 16 + place] = clock64();
#else
#define MARK(place)
#define MARK_STEP(place)
#endif

constexpr int MOST_ROWS = 16 * most(most(Qkv::TILES, Up::TILES), most(most(Out::TILES, Down::TILES), HEAD_GROUP));
constexpr int SUM_STRIDE = WARPS + 4;  // of a row's partial sums: eight rows lie in different banks
constexpr int PAD = 32;  // elements between the parts of an input: their loads fall into other banks
constexpr int MOST_ACTIVE = most(
    2 * most(Qkv::SLICE + PAD, Up::SLICE + PAD), 4 * most(Out::SLICE + PAD, Down::SLICE + PAD));

struct __align__(16) Shared {
    unsigned char ring[STAGES * STAGE];
    Element active[WARPS][MOST_ACTIVE];  // a warp's input: of each half its upper, then its lower bits
    float sums[2][MOST_ROWS * SUM_STRIDE];
    float squares[2][WARPS];
    float seen[WARPS][D];
    float tops[WARPS], weights[WARPS];
    int token;
    unsigned long long full[STAGES], empty[STAGES];
    unsigned long long ready[3], taken[3];  // of both sets of sums, and of what the warps saw
};

static_assert(sizeof(Shared) <= 227 * 1024, "a Hopper multiprocessor has no more");
static_assert(WARPS % 4 == 0, "sums are read by fours");

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

// -- barriers in shared memory ----------------------------------------------------------------------------------------
__device__ __forceinline__ void init(unsigned long long& barrier, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(&barrier)), "r"(count) : "memory");
}

__device__ __forceinline__ void arrive(unsigned long long& barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(&barrier)) : "memory");
}

// By a whole warp: its lanes leave together.
__device__ __forceinline__ void wait(unsigned long long& barrier, unsigned int parity)
{
    unsigned int done;
    do {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(address(&barrier)), "r"(parity) : "memory");
    } while (!__all_sync(ALL_LANES, done));
}

// A place in the ring, and whether the ring has been gone round an odd number of times.
struct Place {
    unsigned int slot, odd;

    __device__ Place plus(unsigned int stages) const
    {
        const bool over = slot + stages >= STAGES;
        return {over ? slot + stages - STAGES : slot + stages, over ? odd ^ 1 : odd};
    }
};

// -- words and messages -----------------------------------------------------------------------------------------------
// What was written before is seen by who hears of what is written after it.
__device__ __forceinline__ void meet() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

__device__ __forceinline__ Word tagged(float value, Word odd)
{
    return (__float_as_uint(value) & ~1u) | odd;
}

__device__ __forceinline__ void send(Word* to, float value, Word odd)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(tagged(value, odd)) : "memory");
}

__device__ __forceinline__ void send(Word* to, float4 v, Word odd)
{
    asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 ::"l"(to), "r"(tagged(v.x, odd)), "r"(tagged(v.y, odd)), "r"(tagged(v.z, odd)), "r"(tagged(v.w, odd))
                 : "memory");
}

template <int CYCLES> __device__ __forceinline__ void pause()
{
    if (CYCLES == 0) return;
    const unsigned int since = clock();
    while ((unsigned int)clock() - since < CYCLES) continue;
}

// N fours of words by a whole warp, asked for together and again until all are of this turn; not those unwanted.
template <int CYCLES, int N> __device__ __forceinline__ void receive(
    const Word* const (&from)[N], const bool (&wanted)[N], Word odd, float4 (&values)[N])
{
    uint4 m[N];
    bool missing = true, again = false;
#pragma unroll
    for (int i = 0; i < N; ++i) m[i] = uint4{odd, odd, odd, odd};
    pause<CYCLES>();
    do {
        if (missing) {
#pragma unroll
            for (int i = 0; i < N; ++i)
                if (wanted[i])
                    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                                 : "=r"(m[i].x), "=r"(m[i].y), "=r"(m[i].z), "=r"(m[i].w) : "l"(from[i]) : "memory");
            Word other = 0;
#pragma unroll
            for (int i = 0; i < N; ++i) other |= (m[i].x ^ odd) | (m[i].y ^ odd) | (m[i].z ^ odd) | (m[i].w ^ odd);
            missing = other & 1;
        }
        again = __any_sync(ALL_LANES, missing);
    } while (again);
#pragma unroll
    for (int i = 0; i < N; ++i)
        values[i] = {__uint_as_float(m[i].x), __uint_as_float(m[i].y), __uint_as_float(m[i].z), __uint_as_float(m[i].w)};
}

// -- feeding ----------------------------------------------------------------------------------------------------------
// A step's stages, the first `layers` of them the layers'.
__device__ __forceinline__ void feed(
    Shared& s, const unsigned char* stream, unsigned int per_step, unsigned int layers, unsigned int all)
{
    unsigned long long policy;  // weights leave L2 first: they come once a token, and would push out the mail
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    Place next = {0, 0}, landed = {0, 0};
    unsigned int in_step = 0, due = clock();
    for (unsigned int n = 0; n < all; ++n) {
        if (n >= WINDOW) {
            wait(s.full[landed.slot], landed.odd);
            landed = landed.plus(1);
        }
        wait(s.empty[next.slot], next.odd ^ 1);  // the first round is free: a new barrier's last turn counts as odd
        if (threadIdx.x % 32 == 0) {
            const unsigned int barrier = address(&s.full[next.slot]);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(STAGE) : "memory");
            for (int piece = 0; piece < STAGE; piece += STAGE / PIECES) {
                if (in_step < layers) {
                    unsigned int now = clock();
                    while ((int)(now - due) < 0) now = clock();
                    due = (int)(due + PACE - now) < 0 ? now : due + PACE;  // nothing is caught up with
                }
                asm volatile(
                    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                    "[%0], [%1], %2, [%3], %4;"
                    ::"r"(address(s.ring + next.slot * STAGE + piece)), "l"(stream + (size_t)in_step * STAGE + piece),
                    "r"(STAGE / PIECES), "r"(barrier), "l"(policy)
                    : "memory");
            }
        }
        __syncwarp();
        if (++in_step == per_step) in_step = 0;
        next = next.plus(1);
    }
}

// -- multiplying ------------------------------------------------------------------------------------------------------
// A warp's tiles of a product, out of the ring: its stages go back before the product's input is there.
template <class P> struct Weights {
    uint4 low[P::SHARE], high[P::SHARE];  // rows g and g + 8 of a tile

    __device__ __forceinline__ void take(Shared& s, Place& at)
    {
        const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32, first = warp * P::SHARE;
        for (unsigned int i = first / STAGE_TILES; i <= (first + P::SHARE - 1) / STAGE_TILES; ++i) {
            const Place stage = at.plus(i);
            wait(s.full[stage.slot], stage.odd);
        }
        unsigned int from = at.slot * STAGE + first * TILE;
#pragma unroll
        for (int j = 0; j < P::SHARE; ++j, from += TILE) {
            if (from >= STAGES * STAGE) from -= STAGES * STAGE;
            const uint4* a = reinterpret_cast<const uint4*>(s.ring + from) + lane;
            low[j] = a[0];
            high[j] = a[32];
        }
        __syncwarp();
        if (lane < P::USED) arrive(s.empty[at.plus(lane).slot]);
        __syncwarp();
        at = at.plus(P::USED);
    }
};

__device__ __forceinline__ void mma(float (&c)[4], unsigned int a0, unsigned int a1, unsigned int a2, unsigned int a3,
                                    unsigned int b0, unsigned int b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// Where a lane's i-th four of a product's input lies: its column in the vector.
template <class P> __device__ __forceinline__ int column_of(int i)
{
    const int quad = i * 32 + threadIdx.x % 32, half = quad / (P::SLICE / 4);
    return half * P::SPAN + threadIdx.x / 32 * P::SLICE + quad % (P::SLICE / 4) * 4;
}

template <class P> __device__ __forceinline__ bool has(int i)
{
    return P::QUADS % 32 == 0 || i * 32 + threadIdx.x % 32 < P::QUADS;
}

template <class P, class M> __device__ __forceinline__ void receive_input(const Word* mail, Word odd, float4 (&x)[P::LOADS])
{
    const Word* from = mail + M::from(0, blockIdx.x % COPIES);
    const Word* at[P::LOADS];
    bool wanted[P::LOADS];
#pragma unroll
    for (int i = 0; i < P::LOADS; ++i) {
        wanted[i] = has<P>(i);
        at[i] = from + M::at(column_of<P>(i));
    }
    receive<(P::LOADS > 1 ? LATER : DELAY)>(at, wanted, odd, x);
}

// A product's input as the tensor cores take it: B, in its first column the upper bits of each value, in its second the
// lower ones (two bf16 have 16 bits of fraction); in the third and fourth those of the other half of the columns.
template <class P> struct Input {
    uint4 x[P::PER];

    __device__ __forceinline__ void put(Shared& s, const float4 (&values)[P::LOADS])
    {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
        __syncwarp();  // the product before has been read
#pragma unroll
        for (int i = 0; i < P::LOADS; ++i) {
            if (has<P>(i)) {
                const int quad = i * 32 + lane, half = quad / (P::SLICE / 4), within = quad % (P::SLICE / 4) * 4;
                const float4 v = values[i];
                const __nv_bfloat162 a = __floats2bfloat162_rn(v.x, v.y), b = __floats2bfloat162_rn(v.z, v.w);
                const __nv_bfloat162 c = __floats2bfloat162_rn(v.x - __low2float(a), v.y - __high2float(a));
                const __nv_bfloat162 d = __floats2bfloat162_rn(v.z - __low2float(b), v.w - __high2float(b));
                Element* upper = s.active[warp] + 2 * half * (P::SLICE + PAD) + within;
                __nv_bfloat162* lower = reinterpret_cast<__nv_bfloat162*>(upper + P::SLICE + PAD);
                reinterpret_cast<__nv_bfloat162*>(upper)[0] = a;
                reinterpret_cast<__nv_bfloat162*>(upper)[1] = b;
                lower[0] = c;
                lower[1] = d;
            }
        }
        __syncwarp();
#pragma unroll
        for (int i = 0; i < P::PER; ++i) {
            const Element* from = s.active[warp] + g * (P::SLICE + PAD) + i * 32 + t * 8;
            x[i] = g < 2 * P::HALF_COUNT ? *reinterpret_cast<const uint4*>(from) : uint4{};
        }
    }
};

// Which of both sets of sums a product uses, and how often it was used before.
struct Turn {
    unsigned int product;

    __device__ unsigned int set() const { return product & 1; }
    __device__ unsigned int odd() const { return product >> 1 & 1; }
};

// Partial sums of the warp's columns, with its squares where the input is to be normed.
template <class P> __device__ __forceinline__ void multiply(
    Shared& s, const Weights<P>& weights, const Input<P>& input, Turn& turn, float squares)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    float even[P::TILES][4], odd[P::TILES][4];
#pragma unroll
    for (int tile = 0; tile < P::TILES; ++tile)
#pragma unroll
        for (int i = 0; i < 4; ++i) even[tile][i] = odd[tile][i] = 0.0f;
#pragma unroll
    for (int i = 0; i < P::PER; ++i) {
#pragma unroll
        for (int tile = 0; tile < P::TILES; ++tile) {
            const uint4 low = weights.low[tile * P::PER + i], high = weights.high[tile * P::PER + i], x = input.x[i];
            mma(even[tile], low.x, high.x, low.y, high.y, x.x, x.y);
            mma(odd[tile], low.z, high.z, low.w, high.w, x.z, x.w);
        }
    }
    for (int offset = 16; offset > 0; offset /= 2) squares += __shfl_xor_sync(ALL_LANES, squares, offset);

    const unsigned int set = turn.set();
    wait(s.taken[set], turn.odd() ^ 1);
#pragma unroll
    for (int tile = 0; tile < P::TILES; ++tile) {
        float* sums = s.sums[set] + (tile * 16 + g) * SUM_STRIDE + warp;
        const float upper = even[tile][0] + odd[tile][0] + (even[tile][1] + odd[tile][1]);
        const float lower = even[tile][2] + odd[tile][2] + (even[tile][3] + odd[tile][3]);
        if (t == 0) sums[0] = upper;
        if (t == P::HALF_COUNT - 1) sums[8 * SUM_STRIDE] = lower;
    }
    if (lane == 0) s.squares[set][warp] = squares;
    __syncwarp();
    if (lane == 0) arrive(s.ready[set]);
    __syncwarp();
    ++turn.product;
}

__device__ __forceinline__ float4 embedded(const Element* row, int column)
{
    const uint2 bits = *reinterpret_cast<const uint2*>(row + column);
    const __nv_bfloat162 a = *reinterpret_cast<const __nv_bfloat162*>(&bits.x);
    const __nv_bfloat162 b = *reinterpret_cast<const __nv_bfloat162*>(&bits.y);
    return {__low2float(a), __high2float(a), __low2float(b), __high2float(b)};
}

// A product's input from the residual stream: times the norm's weight here, over its rms by who adds the sums up.
__device__ __forceinline__ float normed(float4 (&x)[Qkv::LOADS], const uint2 (&norm)[Qkv::LOADS])
{
    float squares = 0.0f;
#pragma unroll
    for (int i = 0; i < Qkv::LOADS; ++i) {
        if (has<Qkv>(i)) {
            const float4 w = embedded(reinterpret_cast<const Element*>(&norm[i]), 0);
            squares += x[i].x * x[i].x + x[i].y * x[i].y + (x[i].z * x[i].z + x[i].w * x[i].w);
            x[i] = {x[i].x * w.x, x[i].y * w.y, x[i].z * w.z, x[i].w * w.w};
        }
    }
    return squares;
}

__device__ __forceinline__ void load_norm(uint2 (&norm)[Qkv::LOADS], const Element* from)
{
#pragma unroll
    for (int i = 0; i < Qkv::LOADS; ++i)
        if (has<Qkv>(i)) norm[i] = *reinterpret_cast<const uint2*>(from + column_of<Qkv>(i));
}

// -- attention --------------------------------------------------------------------------------------------------------
struct Cache {
    Element* keys;  // of the layer, [blocks, KV_HEADS, BLOCK_SIZE, D]
    Element* values;
    const int* table;

    __device__ long long row(int token, int kv) const
    {
        return (((long long)table[token / BLOCK_SIZE] * KV_HEADS + kv) * BLOCK_SIZE + token % BLOCK_SIZE) * D;
    }
};

// What a lane looks at in every layer of a step: 8 columns of every STEP-th token.
struct Gaze {
    int first, column, partner;  // partner: the columns that these are turned with
    const float4 *cosine, *sine;  // of the position; read anew in every layer, as registers are short
    long long rows[AHEAD];
};

__device__ __forceinline__ Gaze gaze(const Cache& cache, const float* cosine, const float* sine, int position)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, split = blockIdx.x % SPLITS;
    Gaze at;
    at.first = (split * WARPS + warp) * ROWS + lane / LANES;
    at.column = lane % LANES * 8;
    at.partner = (at.column + D / 2) % D;
    const size_t from = (size_t)position * (D / 2) + at.column % (D / 2);
    at.cosine = reinterpret_cast<const float4*>(cosine + from);
    at.sine = reinterpret_cast<const float4*>(sine + from);
#pragma unroll
    for (int u = 0; u < AHEAD; ++u) {
        const int token = at.first + u * STEP;
        at.rows[u] = token < position ? cache.row(token, blockIdx.x / SPLITS / GROUP) + at.column : 0;
    }
    return at;
}

__device__ __forceinline__ void prefetch(const void* address)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

__device__ __forceinline__ unsigned int packed(float a, float b)
{
    const __nv_bfloat162 both = __floats2bfloat162_rn(a, b);
    return *reinterpret_cast<const unsigned int*>(&both);
}

__device__ __forceinline__ uint4 packed(float4 a, float4 b)
{
    return {packed(a.x, a.y), packed(a.z, a.w), packed(b.x, b.y), packed(b.z, b.w)};
}

// a * cosine + b * sine, four at a time.
__device__ __forceinline__ float4 turned(float4 a, float4 b, float4 cosine, float4 sine)
{
    return {a.x * cosine.x + b.x * sine.x, a.y * cosine.y + b.y * sine.y, a.z * cosine.z + b.z * sine.z,
            a.w * cosine.w + b.w * sine.w};
}

__device__ __forceinline__ float dot(float4 a, float4 b, uint4 key)
{
    const Element* k = reinterpret_cast<const Element*>(&key);
    const float low = a.x * float(k[0]) + a.y * float(k[1]) + a.z * float(k[2]) + a.w * float(k[3]);
    return low + (b.x * float(k[4]) + b.y * float(k[5]) + b.z * float(k[6]) + b.w * float(k[7]));
}

__device__ __forceinline__ float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// What the warp's tokens say, into s.seen, with their top score and the sum of their weights.
__device__ __forceinline__ void attend(
    Shared& s, const Cache& cache, const Gaze& at, const Word* mail, unsigned int turn, unsigned int times, int position,
    float scale)
{
    const int head = blockIdx.x / SPLITS, kv = head / GROUP;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = lane / LANES;
    uint4 key[AHEAD], value[AHEAD];
#pragma unroll
    for (int u = 0; u < AHEAD; ++u) {
        key[u] = value[u] = uint4{};
        if (at.first + u * STEP < position) {
            key[u] = __ldcg(reinterpret_cast<const uint4*>(cache.keys + at.rows[u]));
            value[u] = __ldcg(reinterpret_cast<const uint4*>(cache.values + at.rows[u]));
        }
    }

    const float4 cosine[2] = {at.cosine[0], at.cosine[1]};
    float4 sine[2] = {at.sine[0], at.sine[1]};
    if (at.column < D / 2)
        for (int i = 0; i < 2; ++i) sine[i] = {-sine[i].x, -sine[i].y, -sine[i].z, -sine[i].w};

    const bool mine = position >= at.first && (position - at.first) % STEP == 0;  // the new token
    const Word* q = mail + MAIL_QKV + head * D;
    const Word* k = mail + MAIL_QKV + (HEADS + kv) * D;
    const Word* v = k + KV_HEADS * D;
    const Word* const from[10] = {q + at.column, q + at.column + 4, q + at.partner, q + at.partner + 4,
                                  k + at.column, k + at.column + 4, k + at.partner, k + at.partner + 4,
                                  v + at.column, v + at.column + 4};
    const bool wanted[10] = {true, true, true, true, mine, mine, mine, mine, mine, mine};
    float4 found[10];
    receive<QUERY>(from, wanted, turn & 1, found);
    float4 query[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        query[i] = turned(found[i], found[2 + i], cosine[i], sine[i]);
        query[i] = {query[i].x * scale, query[i].y * scale, query[i].z * scale, query[i].w * scale};
    }
    uint4 new_key = {}, new_value = {};
    if (__any_sync(ALL_LANES, mine)) {
        new_key = packed(turned(found[4], found[6], cosine[0], sine[0]), turned(found[5], found[7], cosine[1], sine[1]));
        new_value = packed(found[8], found[9]);
    }
    __syncwarp();

    float seen[8] = {}, top = NONE, sum = 0.0f;
    const int start = __shfl_sync(ALL_LANES, at.first, 0);
    for (int base = start; base <= position; base += AHEAD * STEP) {
        if (base != start) {
#pragma unroll
            for (int u = 0; u < AHEAD; ++u) {
                const int token = base + row + u * STEP;
                if (token < position) {
                    const long long there = cache.row(token, kv) + at.column;
                    key[u] = __ldcg(reinterpret_cast<const uint4*>(cache.keys + there));
                    value[u] = __ldcg(reinterpret_cast<const uint4*>(cache.values + there));
                }
            }
        }
        float score[AHEAD], next = top;
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            if (base + row + u * STEP == position) {
                key[u] = new_key;
                value[u] = new_value;
            }
            score[u] = dot(query[0], query[1], key[u]);
        }
#pragma unroll
        for (int offset = LANES / 2; offset > 0; offset /= 2)
#pragma unroll
            for (int u = 0; u < AHEAD; ++u) score[u] += __shfl_xor_sync(ALL_LANES, score[u], offset);
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            if (base + row + u * STEP > position) score[u] = 2 * NONE;
            next = fmaxf(next, score[u]);
        }
        const float keep = power_of_two(top - next);
        top = next;
        sum *= keep;
#pragma unroll
        for (int e = 0; e < 8; ++e) seen[e] *= keep;
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            const Element* x = reinterpret_cast<const Element*>(&value[u]);
            const float p = power_of_two(score[u] - next);
            sum += p;
#pragma unroll
            for (int e = 0; e < 8; ++e) seen[e] += p * float(x[e]);
        }
    }

#pragma unroll
    for (int offset = LANES; offset < 32; offset *= 2) {  // rows of the warp
        const float other = __shfl_xor_sync(ALL_LANES, top, offset), next = fmaxf(top, other);
        const float mine_kept = power_of_two(top - next), theirs = power_of_two(other - next);
        sum = sum * mine_kept + __shfl_xor_sync(ALL_LANES, sum, offset) * theirs;
#pragma unroll
        for (int e = 0; e < 8; ++e) seen[e] = seen[e] * mine_kept + __shfl_xor_sync(ALL_LANES, seen[e], offset) * theirs;
        top = next;
    }
    wait(s.taken[2], times & 1 ^ 1);
    if (row == 0) {
        float4* to = reinterpret_cast<float4*>(&s.seen[warp][at.column]);
        to[0] = {seen[0], seen[1], seen[2], seen[3]};
        to[1] = {seen[4], seen[5], seen[6], seen[7]};
        if (lane == 0) {
            s.tops[warp] = top;
            s.weights[warp] = sum;
        }
    }
    __syncwarp();
    if (lane == 0) arrive(s.ready[2]);
    __syncwarp();
    if (mine && head % GROUP == 0) {  // now that nobody waits for this warp: where to is a look at the table away
        const long long to = cache.row(position, kv) + at.column;
        *reinterpret_cast<uint4*>(cache.keys + to) = new_key;
        *reinterpret_cast<uint4*>(cache.values + to) = new_value;
    }
    __syncwarp();
}

// -- talking ----------------------------------------------------------------------------------------------------------
struct Talker {
    Shared& s;
    Word* mail;
    Turn turn;
    float own[(OWN + 31) / 32];  // of the residual stream: this block's rows

    // A product's sums are complete.
    __device__ __forceinline__ void hear() { wait(s.ready[turn.set()], turn.odd()); }

    __device__ __forceinline__ void heard()
    {
        __syncwarp();
        if (threadIdx.x % 32 == 0) arrive(s.taken[turn.set()]);
        __syncwarp();
        ++turn.product;
    }

    __device__ __forceinline__ float sum(int row) const
    {
        const float4* from = reinterpret_cast<const float4*>(s.sums[turn.set()] + row * SUM_STRIDE);
        float4 all = from[0];
#pragma unroll
        for (int w = 1; w < WARPS / 4; ++w) all = {all.x + from[w].x, all.y + from[w].y, all.z + from[w].z, all.w + from[w].w};
        return (all.x + all.y) + (all.z + all.w);
    }

    // Of a tile whose lower rows are something else than rows.
    __device__ __forceinline__ float upper(int row) const { return sum(row / 8 * 16 + row % 8); }
    __device__ __forceinline__ float lower(int row) const { return sum(row / 8 * 16 + 8 + row % 8); }

    __device__ __forceinline__ float inverse_rms(float eps) const
    {
        float squares = 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; ++w) squares += s.squares[turn.set()][w];
        return rsqrtf(squares / WIDTH + eps);
    }

    __device__ __forceinline__ void send_rows(unsigned int odd, float eps)
    {
        hear();
        const float scale = inverse_rms(eps);
        for (int r = threadIdx.x % 32; r < QKV_ROWS; r += 32)
            send(mail + MAIL_QKV + blockIdx.x * QKV_ROWS + r, sum(r) * scale, odd);
        heard();
    }

    __device__ __forceinline__ void send_residual(int place, unsigned int odd)
    {
        hear();
#pragma unroll
        for (int i = 0; i < (OWN + 31) / 32; ++i) {
            const int r = i * 32 + threadIdx.x % 32;
            if (r < OWN) {
                own[i] += upper(r) + lower(r);
#pragma unroll
                for (int c = 0; c < COPIES; ++c) send(mail + place + Residual::from(blockIdx.x, c) + r, own[i], odd);
            }
        }
        heard();
    }

    __device__ __forceinline__ void send_units(unsigned int odd, float eps)
    {
        hear();
        const float scale = inverse_rms(eps);
        for (int r = threadIdx.x % 32; r < UNITS; r += 32) {
            const float gate = upper(r) * scale, up = lower(r) * scale;
            const float unit = __fdividef(gate, 1.0f + __expf(-gate)) * up;
#pragma unroll
            for (int c = 0; c < COPIES; ++c) send(mail + MAIL_HIDDEN + Hidden::from(blockIdx.x, c) + r, unit, odd);
        }
        heard();
    }

    // What the warps saw, then what the splits of the head saw: this block merges one part of the elements.
    __device__ __forceinline__ void merge(unsigned int odd, unsigned int times)
    {
        const int lane = threadIdx.x % 32, head = blockIdx.x / SPLITS, split = blockIdx.x % SPLITS;
        const int part = lane / PART_QUADS, quad = lane % PART_QUADS * 4;
        wait(s.ready[2], times & 1);
        float4 x = {};
        float top = NONE, total = 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; ++w) top = fmaxf(top, s.tops[w]);
#pragma unroll
        for (int w = 0; w < WARPS; ++w) {
            const float p = power_of_two(s.tops[w] - top);
            const float4 seen = *reinterpret_cast<const float4*>(&s.seen[w][lane % HEAD_QUADS * 4]);
            total += p * s.weights[w];
            x = {x.x + p * seen.x, x.y + p * seen.y, x.z + p * seen.z, x.w + p * seen.w};
        }
        if (lane < HEAD_QUADS) {
            Word* to = mail + MAIL_PARTIAL + ((head * SPLITS + part) * SPLITS + split) * SPLIT;
            send(to + quad, x, odd);
            if (quad == 0) send(to + PART, float4{top, total, 0.0f, 0.0f}, odd);
        }
        __syncwarp();
        if (lane == 0) arrive(s.taken[2]);
        __syncwarp();
        const Word* peer = mail + MAIL_PARTIAL + (blockIdx.x * SPLITS + part % SPLITS) * SPLIT;
        const Word* const from[2] = {peer + quad, peer + PART};
        const bool has_part = lane < HEAD_QUADS, both[2] = {has_part, has_part};
        float4 found[2];
        receive<0>(from, both, odd, found);
        top = has_part ? found[1].x : NONE;
#pragma unroll
        for (int offset = PART_QUADS; offset < HEAD_QUADS; offset *= 2)
            top = fmaxf(top, __shfl_xor_sync(ALL_LANES, top, offset));
        const float weight = has_part ? power_of_two(found[1].x - top) : 0.0f;
        total = weight * found[1].y;
        x = {weight * found[0].x, weight * found[0].y, weight * found[0].z, weight * found[0].w};
#pragma unroll
        for (int offset = PART_QUADS; offset < HEAD_QUADS; offset *= 2) {
            total += __shfl_xor_sync(ALL_LANES, total, offset);
            x.x += __shfl_xor_sync(ALL_LANES, x.x, offset);
            x.y += __shfl_xor_sync(ALL_LANES, x.y, offset);
            x.z += __shfl_xor_sync(ALL_LANES, x.z, offset);
            x.w += __shfl_xor_sync(ALL_LANES, x.w, offset);
        }
        const float share = 1.0f / total;
        if (lane < PART_QUADS) {
#pragma unroll
            for (int c = 0; c < COPIES; ++c)
                send(mail + MAIL_SEEN + Seen::from(blockIdx.x, c) + quad,
                     float4{x.x * share, x.y * share, x.z * share, x.w * share}, odd);
        }
    }
};

// The likeliest token; of equals the first, and what is no number wins, and stays.
struct Best {
    float logit;
    int token;

    __device__ __forceinline__ void or_else(float other, int other_token)
    {
        if (logit == logit && (!(other <= logit) || (other == logit && other_token < token))) {
            logit = other;
            token = other_token;
        }
    }

    __device__ __forceinline__ void of_warp()
    {
        for (int offset = 16; offset > 0; offset /= 2) {
            const float other = __shfl_xor_sync(ALL_LANES, logit, offset);
            const int other_token = __shfl_xor_sync(ALL_LANES, token, offset);
            or_else(other, other_token);
        }
    }

    // Of all blocks: each tells every other one.
    __device__ __forceinline__ void of_all(Message* mail, unsigned int step)
    {
        const int lane = threadIdx.x % 32;
        of_warp();
        if (lane == 0) {
            const Message of_step = (Message)step << 32;
            asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};"
                         ::"l"(mail + 2 * blockIdx.x), "l"(of_step | __float_as_uint(logit)),
                         "l"(of_step | (unsigned int)token) : "memory");
        }
        __syncwarp();
        constexpr int EACH = (BLOCKS + 31) / 32;  // blocks of a lane
        Message m[EACH][2];
        bool missing;
        do {
            missing = false;
#pragma unroll
            for (int i = 0; i < EACH; ++i)
                if (i * 32 + lane < BLOCKS)
                    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                                 : "=l"(m[i][0]), "=l"(m[i][1]) : "l"(mail + 2 * (i * 32 + lane)) : "memory");
#pragma unroll
            for (int i = 0; i < EACH; ++i)
                if (i * 32 + lane < BLOCKS)
                    missing |= (unsigned int)(m[i][0] >> 32) != step || (unsigned int)(m[i][1] >> 32) != step;
        } while (__any_sync(ALL_LANES, missing));
#pragma unroll
        for (int i = 0; i < EACH; ++i)
            if (i * 32 + lane < BLOCKS) or_else(__uint_as_float((unsigned int)m[i][0]), (int)(unsigned int)m[i][1]);
        __syncwarp();
        of_warp();
    }
};

// -- the whole --------------------------------------------------------------------------------------------------------
struct Model {
    const Element* norms;
    const Element* embedding;
    const float* cosine;
    const float* sine;
    Cache cache;
    Word* mail;
    float* logits;
    long long* drawn;
    int layers, vocabulary, head_tiles, steps, greedy, start;
    long long layer_elements;
    float eps, scale;
};

// Talking and multiplying warps know the next token.
__device__ __forceinline__ void step_ends()
{
    asm volatile("bar.sync 1, %0;" ::"n"(32 * (WARPS + 1)) : "memory");
}

__device__ __forceinline__ void talk(Shared& s, const Model& m, unsigned int turn, unsigned int said, int token)
{
    const int lane = threadIdx.x % 32, b = blockIdx.x;
    Talker talker = {s, m.mail, {0}, {}};
    unsigned int times = 0;
    for (int step = 0; step < m.steps; ++step) {
#pragma unroll
        for (int i = 0; i < (OWN + 31) / 32; ++i)
            if (i * 32 + lane < OWN) talker.own[i] = float(m.embedding[(size_t)token * WIDTH + b * OWN + i * 32 + lane]);
        MARK_STEP(9)
        for (int layer = 0; layer < m.layers; ++layer, ++times) {
            const unsigned int odd = ++turn & 1;
            MARK(0)
            talker.send_rows(odd, m.eps);
            MARK(1)
            talker.merge(odd, times);
            MARK(2)
            talker.send_residual(MAIL_MIDDLE, odd);
            MARK(3)
            talker.send_units(odd, m.eps);
            MARK(4)
            talker.send_residual(MAIL_END, odd);
            MARK(5)
        }
        MARK_STEP(6)
        meet();  // the cache's new rows are to be seen by who hears of this step's token

        Best best = {-INFINITY, m.vocabulary};
        for (int tile = 0; tile < m.head_tiles; tile += HEAD_GROUP) {
            talker.hear();
            const float scale = talker.inverse_rms(m.eps);
            for (int r = lane; r < 16 * HEAD_GROUP; r += 32) {
                const int row = (b * m.head_tiles + tile) * 16 + r;
                if (row < m.vocabulary) {
                    const float logit = talker.sum(r) * scale;
                    if (m.greedy)
                        best.or_else(logit, row);
                    else
                        m.logits[row] = logit;
                }
            }
            talker.heard();
        }
        MARK_STEP(7)
        if (m.greedy) {
            best.of_all(reinterpret_cast<Message*>(m.mail + MAIL_BEST), ++said);
            meet();
            const bool sound = fabsf(best.logit) < INFINITY;
            token = sound ? best.token : 0;
            if (lane == 0) {
                s.token = token;
                if (b == 0) m.drawn[step] = sound ? token : -1;
            }
            __syncwarp();
        }
        step_ends();
        MARK_STEP(8)
    }
}

__device__ __forceinline__ void work(Shared& s, const Model& m, unsigned int turn, int token)
{
    Place place = {0, 0};
    Turn products = {0};
    unsigned int times = 0;
    for (int step = 0; step < m.steps; ++step) {
        const int position = m.start + step;
        Cache cache = m.cache;
        const Gaze at = gaze(cache, m.cosine, m.sine, position);
        uint2 norm[Qkv::LOADS];
        load_norm(norm, m.norms);
        float4 x[Qkv::LOADS];
#pragma unroll
        for (int i = 0; i < Qkv::LOADS; ++i)
            if (has<Qkv>(i)) x[i] = embedded(m.embedding + (size_t)token * WIDTH, column_of<Qkv>(i));

        for (int layer = 0; layer < m.layers; ++layer, ++times) {
            ++turn;
            {
                Weights<Qkv> weights;
                weights.take(s, place);
                MARK(0)
                if (layer > 0) receive_input<Qkv, Residual>(m.mail + MAIL_END, turn - 1 & 1, x);
                MARK(1)
                const float squares = normed(x, norm);
                Input<Qkv> input;
                input.put(s, x);
                multiply(s, weights, input, products, squares);
            }
            MARK(2)
            load_norm(norm, m.norms + (size_t)(2 * layer + 1) * WIDTH);  // comes while others are waited for
            attend(s, cache, at, m.mail, turn, times, position, m.scale * LOG2E);
            MARK(3)
            cache.keys += m.layer_elements;
            cache.values += m.layer_elements;
            if (layer + 1 < m.layers && threadIdx.x % 8 == 0) {  // eight lanes read a line of 128 bytes
#pragma unroll
                for (int u = 0; u < AHEAD; ++u) {
                    if (at.first + u * STEP < position) {
                        prefetch(cache.keys + at.rows[u]);
                        prefetch(cache.values + at.rows[u]);
                    }
                }
            }
            __syncwarp();
            {
                Weights<Out> weights;
                weights.take(s, place);
                float4 seen[Out::LOADS];
                MARK(4)
                receive_input<Out, Seen>(m.mail + MAIL_SEEN, turn & 1, seen);
                MARK(5)
                Input<Out> input;
                input.put(s, seen);
                multiply(s, weights, input, products, 0.0f);
            }
            {
                Weights<Up> weights;
                weights.take(s, place);
                MARK(6)
                receive_input<Up, Residual>(m.mail + MAIL_MIDDLE, turn & 1, x);
                MARK(7)
                const float squares = normed(x, norm);
                Input<Up> input;
                input.put(s, x);
                multiply(s, weights, input, products, squares);
            }
            MARK(8)
            load_norm(norm, m.norms + (size_t)(2 * layer + 2) * WIDTH);
            {
                Weights<Down> weights;
                weights.take(s, place);
                float4 hidden[Down::LOADS];
                MARK(9)
                receive_input<Down, Hidden>(m.mail + MAIL_HIDDEN, turn & 1, hidden);
                MARK(10)
                Input<Down> input;
                input.put(s, hidden);
                multiply(s, weights, input, products, 0.0f);
            }
            MARK(11)
        }

        receive_input<Head, Residual>(m.mail + MAIL_END, turn & 1, x);
        const float squares = normed(x, norm);
        Input<Head> input;
        input.put(s, x);
        for (int tile = 0; tile < m.head_tiles; tile += HEAD_GROUP) {
            Weights<Head> weights;
            weights.take(s, place);
            multiply(s, weights, input, products, squares);
        }
        step_ends();
        token = s.token;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) decode_step_specialised(
    const unsigned char* __restrict__ stream, const Element* __restrict__ norms, const Element* __restrict__ embedding,
    const float* __restrict__ cosine, const float* __restrict__ sine, Element* keys, Element* values,
    const int* __restrict__ table, long long* tokens, long long* positions, Word* mail, unsigned int* turns,
    float* __restrict__ logits, long long* __restrict__ drawn, int layers, int vocabulary, int head_tiles,
    long long layer_elements, int steps, int greedy, float eps, float scale)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Shared& s = *reinterpret_cast<Shared*>(memory);
    const int warp = __shfl_sync(ALL_LANES, threadIdx.x / 32, 0);
    const unsigned int turn = turns[0], said = turns[1];
    const int token = int(tokens[0]), start = int(positions[0]);
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            init(s.full[i], 1);
            init(s.empty[i], WARPS);
        }
        for (int i = 0; i < 3; ++i) {
            init(s.ready[i], WARPS);
            init(s.taken[i], 1);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    const Model m = {norms, embedding, cosine, sine, {keys, values, table}, mail, logits, drawn, layers, vocabulary,
                     head_tiles, steps, greedy, start, layer_elements, eps, scale};
    const unsigned int per_step = layers * LAYER_STAGES + head_tiles / HEAD_GROUP * Head::USED;
    if (warp == FEEDER)
        feed(s, stream + (size_t)blockIdx.x * per_step * STAGE, per_step, layers * LAYER_STAGES,
             per_step * steps);
    else if (warp == TALKER)
        talk(s, m, turn, said, token);
    else
        work(s, m, turn, token);

    if (blockIdx.x == 0 && threadIdx.x == 0) {  // every block has long read them
        turns[0] = turn + steps * layers;
        if (greedy) {
            turns[1] = said + steps;
            tokens[0] = s.token;
            positions[0] = start + steps;
        }
    }
}
