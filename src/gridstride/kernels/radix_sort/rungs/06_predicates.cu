// 06 predicates: a lane's bit is one predicate, which the ballot asks for and the mask is turned by; behind the end
//   stand keys above all others, so that nobody asks whether a key is there; two places share a register.
//
// Moves: instructions for each key of a pass, from about 120 to 75, of which the ballots are 28 instead of 56; spills,
//   from 6 million to none; barriers of a tile, from 7 to 4: a warp clears its own counts.
// Mapping: as before.
//
// entry: radix_sort_predicates
// block: 512
// grid: min(ceil(n/8192), 2*SMS)
// shared: 4*(16*256+8192+256)
// cooperative: yes

#include <cooperative_groups.h>

#ifndef KIND
#define KIND 0  // of keys: 0 without a sign, 1 with one, 2 floats, NaN the largest
#endif

namespace cg = cooperative_groups;
constexpr int DIGITS = 256;
constexpr int THREADS = 512;
constexpr int WARPS = THREADS / 32;
constexpr int ROWS = 16;  // keys of a thread
constexpr int BLOCKS = 2;  // of a multiprocessor
constexpr int TILE = THREADS * ROWS;
constexpr unsigned int ALL_LANES = 0xffffffffu;

constexpr int PASSES = 4;
constexpr unsigned int OWN = 1u << 30, RUNNING = 2u << 30, COUNT = OWN - 1;  // what a tile has published, and its count

// A key as a number without a sign that has its place among the others, and back.
__device__ __forceinline__ unsigned int ranked(unsigned int bits)
{
    if (KIND == 0) return bits;
    if (KIND == 1) return bits ^ 0x80000000u;
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0xffffffffu;
    return bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
}

__device__ __forceinline__ unsigned int bits_of(unsigned int ranked)
{
    if (KIND == 0) return ranked;
    if (KIND == 1) return ranked ^ 0x80000000u;
    return ranked ^ (ranked >> 31 ? 0x80000000u : 0xffffffffu);
}

// The lanes with this digit: each ballot leaves those with the same bit. By hand, since the compiler takes the bit out
// once for the ballot and again for the mask.
__device__ __forceinline__ unsigned int equals(unsigned int digit)
{
    unsigned int alike = ALL_LANES;
#pragma unroll
    for (int bit = 0; bit < 8; ++bit) {
        unsigned int same;
        asm volatile("{\n.reg .pred set;\n.reg .b32 own;\n"
                     "and.b32 own, %1, %2;\n"
                     "setp.ne.u32 set, own, 0;\n"
                     "vote.sync.ballot.b32 %0, set, 0xffffffff;\n"
                     "@!set not.b32 %0, %0;\n}" : "=r"(same) : "r"(digit), "r"(1u << bit));
        alike &= same;
    }
    return alike;
}

// Where each of a tile's keys stands among those of its digit and warp; `counts` are the warp's own. Row by row: lanes
// of one digit find each other, and the last of them adds them all, so that keys stay in their order.
__device__ __forceinline__ void rank(
    int shift, const unsigned int (&key)[ROWS], unsigned int (&place)[ROWS / 2], unsigned int* counts)
{
    const int lane = threadIdx.x % 32;
    const unsigned int before = (1u << lane) - 1;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const unsigned int digit = key[r] >> shift & (DIGITS - 1);
        const unsigned int alike = equals(digit), earlier = __popc(alike & before);
        const int last = 31 - __clz(alike);
        const unsigned int so_far = lane == last ? atomicAdd(&counts[digit], earlier + 1) : 0;
        const unsigned int at = __shfl_sync(ALL_LANES, so_far, last) + earlier;
        place[r / 2] = r % 2 ? place[r / 2] | at << 16 : at;
    }
}

// Sum of the values of all digits' threads before this one; all threads take part, with a barrier since the last time.
__device__ __forceinline__ unsigned int sum_before(unsigned int value)
{
    __shared__ unsigned int of_warps[DIGITS / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned int sum = value;
    for (int distance = 1; distance < 32; distance *= 2) {
        const unsigned int other = __shfl_up_sync(ALL_LANES, sum, distance);
        if (lane >= distance) sum += other;
    }
    if (lane == 31 && threadIdx.x < DIGITS) of_warps[warp] = sum;
    __syncthreads();
    for (int w = 0; w < warp && threadIdx.x < DIGITS; ++w) sum += of_warps[w];
    return sum - value;
}

// Flag and count are one word, so nobody sees one without the other, and nothing else need be ordered with it.
__device__ __forceinline__ void publish(unsigned int* place, unsigned int value)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(place), "r"(value) : "memory");
}

__device__ __forceinline__ unsigned int look_at(const unsigned int* place)
{
    unsigned int value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(place) : "memory");
    return value;
}

// Keys of the thread's digit in all tiles before. All blocks are on the GPU, and each takes its tiles in order: who
// waits for a tile waits for one that is on its way.
__device__ unsigned int look_back(const unsigned int* published, int tile)
{
    unsigned int before = 0;
    for (int from = tile - 1; from >= 0;) {
        const unsigned int seen = look_at(published + from * DIGITS + threadIdx.x);
        if (seen <= COUNT) {  // nothing yet
            __nanosleep(32);
            continue;
        }
        before += seen & COUNT;
        if (seen & RUNNING) break;
        --from;
    }
    return before;
}

// totals[pass][digit] of all keys, from one reading.
__device__ void count_all(const unsigned int* keys, int n, unsigned int* totals)
{
    __shared__ unsigned int of_block[PASSES][DIGITS];
    for (int i = threadIdx.x; i < PASSES * DIGITS; i += THREADS) of_block[i / DIGITS][i % DIGITS] = 0;
    __syncthreads();
    for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < n; i += gridDim.x * (long long)THREADS)
        for (int pass = 0; pass < PASSES; ++pass)
            atomicAdd(&of_block[pass][ranked(keys[i]) >> 8 * pass & (DIGITS - 1)], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < PASSES * DIGITS; i += THREADS)
        atomicAdd(totals + i, of_block[i / DIGITS][i % DIGITS]);
}

struct Shared {
    unsigned int of_warps[WARPS][DIGITS], in_order[TILE], away[DIGITS];
};

// Behind the array's end stand keys that no digit is above: they come last in their tile, and nobody writes them.
__device__ __forceinline__ void fetch(
    const unsigned int* from, int n, int tile, int inside, int shift, unsigned int (&key)[ROWS])
{
    const int first = tile * TILE + inside;
    if ((tile + 1) * TILE <= n) {
#pragma unroll
        for (int r = 0; r < ROWS; ++r) key[r] = from[first + 32 * r];
    } else {
        const unsigned int last = shift == 0 ? bits_of(0xffffffffu) : 0xffffffffu;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) key[r] = first + 32 * r < n ? from[first + 32 * r] : last;
    }
}

struct Pass {
    const unsigned int* from;
    unsigned int *to, *published;
    int n, tiles, shift;
    unsigned int begin;  // of digit t in the whole array
};

__device__ __forceinline__ void sort_tile(
    const Pass& p, int tile, unsigned int (&key)[ROWS], Shared& s)
{
    const int t = threadIdx.x, warp = t / 32, inside = warp * (TILE / WARPS) + t % 32;
    unsigned int place[ROWS / 2];  // two each
    for (int i = t % 32; i < DIGITS / 4; i += 32)
        reinterpret_cast<uint4*>(s.of_warps[warp])[i] = make_uint4(0, 0, 0, 0);
    if (p.shift == 0)
#pragma unroll
        for (int r = 0; r < ROWS; ++r) key[r] = ranked(key[r]);
    __syncwarp();
    rank(p.shift, key, place, s.of_warps[warp]);
    __syncthreads();
    unsigned int own = 0;
    if (t < DIGITS) {
#pragma unroll
        for (int w = 0; w < WARPS; ++w) own += s.of_warps[w][t];
        publish(p.published + tile * DIGITS + t, OWN | own);
    }
    const unsigned int at = sum_before(own);  // where the tile's keys of digit t begin in the tile
    if (t < DIGITS) {
        unsigned int start = at;
#pragma unroll
        for (int w = 0; w < WARPS; ++w) {  // to where each warp's keys of digit t begin
            const unsigned int of_warp = s.of_warps[w][t];
            s.of_warps[w][t] = start;
            start += of_warp;
        }
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const unsigned int begin = s.of_warps[warp][key[r] >> p.shift & (DIGITS - 1)];
        s.in_order[begin + (place[r / 2] >> 16 * (r % 2) & 0xffff)] = key[r];
    }
    if (tile + (int)gridDim.x < p.tiles) fetch(p.from, p.n, tile + (int)gridDim.x, inside, p.shift, key);
    if (t < DIGITS) {
        const unsigned int before = look_back(p.published, tile);
        publish(p.published + tile * DIGITS + t, RUNNING | (before + own));
        s.away[t] = p.begin + before - at;  // from there to where they begin in the array
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const int i = t + r * THREADS;
        if (tile * TILE + i >= p.n) break;
        const unsigned int moved = s.in_order[i];
        p.to[s.away[moved >> p.shift & (DIGITS - 1)] + i] = p.shift == 24 ? bits_of(moved) : moved;
    }
}

__device__ void sweep(
    const unsigned int* from, unsigned int* to, int n, int tiles, int shift, unsigned int total,
    unsigned int* published, Shared& s)
{
    const Pass p = {from, to, published, n, tiles, shift, sum_before(total)};
    const int inside = threadIdx.x / 32 * (TILE / WARPS) + threadIdx.x % 32;
    unsigned int key[ROWS];
    if (blockIdx.x < tiles) fetch(from, n, blockIdx.x, inside, shift, key);
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) sort_tile(p, tile, key, s);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
radix_sort_predicates(const unsigned int* keys, unsigned int* ordered, unsigned int* scratch, int n)
{
    extern __shared__ unsigned char memory[];
    const int tiles = (n + TILE - 1) / TILE;
    unsigned int* totals = scratch + n;
    unsigned int* published = totals + PASSES * DIGITS;  // [pass][tile][digit]
    const int words = PASSES * DIGITS * (1 + tiles);
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < words; i += gridDim.x * THREADS) totals[i] = 0;
    cg::this_grid().sync();
    count_all(keys, n, totals);
    cg::this_grid().sync();
    for (int pass = 0; pass < PASSES; ++pass) {
        const unsigned int* from = pass == 0 ? keys : pass % 2 ? scratch : ordered;
        const unsigned int total = threadIdx.x < DIGITS ? totals[pass * DIGITS + threadIdx.x] : 0;
        sweep(from, pass % 2 ? ordered : scratch, n, tiles, 8 * pass, total, published + pass * DIGITS * tiles,
              *reinterpret_cast<Shared*>(memory));
        cg::this_grid().sync();
    }
}
