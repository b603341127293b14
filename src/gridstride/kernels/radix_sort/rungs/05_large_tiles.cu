// 05 large tiles: 512 threads have 8,192 keys, so that half as many tiles look back; the next tile's keys are on their
//   way meanwhile. Lanes of one digit find each other by ballots.
//
// Moves: counts that are published and looked at, to half; waiting within a warp.
// Mapping: as before; threads 0 to 255 have a digit each.
//
// entry: radix_sort_large_tiles
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

// The lanes that are there with this digit: each ballot leaves those with the same bit. Eight of them take less than
// one __match_any_sync, which goes through the different digits of a warp one after the other.
__device__ __forceinline__ unsigned int equals(unsigned int digit, bool there)
{
    unsigned int alike = __ballot_sync(ALL_LANES, there);
#pragma unroll
    for (int bit = 0; bit < 8; ++bit) {
        const bool set = digit >> bit & 1;
        const unsigned int with = __ballot_sync(ALL_LANES, set);
        alike &= set ? with : ~with;
    }
    return there ? alike : 0;
}

// Where each of a tile's keys stands among those of its digit and warp; `counts` are the warp's own. Row by row: lanes
// of one digit find each other, and the first of them adds them all, so that keys stay in their order.
__device__ __forceinline__ void rank(
    int n, int first, int shift, const unsigned int (&key)[ROWS], unsigned int (&place)[ROWS], unsigned int* counts)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const bool there = first + 32 * r < n;
        const unsigned int digit = key[r] >> shift & (DIGITS - 1);
        const unsigned int alike = equals(digit, there);
        const unsigned int earlier = alike & ((1u << lane) - 1);
        unsigned int so_far = 0;
        if (there && earlier == 0) so_far = atomicAdd(&counts[digit], __popc(alike));
        so_far = __shfl_sync(ALL_LANES, so_far, alike ? __ffs(alike) - 1 : 0);
        place[r] = so_far + __popc(earlier);
    }
}

// Sum of the values of all digits' threads before this one; all threads take part.
__device__ __forceinline__ unsigned int sum_before(unsigned int value)
{
    __shared__ unsigned int of_warps[DIGITS / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned int sum = value;
    for (int distance = 1; distance < 32; distance *= 2) {
        const unsigned int other = __shfl_up_sync(ALL_LANES, sum, distance);
        if (lane >= distance) sum += other;
    }
    __syncthreads();  // the last call's sums have been read
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

__device__ __forceinline__ void fetch(const unsigned int* from, int n, int first, unsigned int (&key)[ROWS])
{
#pragma unroll
    for (int r = 0; r < ROWS; ++r) key[r] = first + 32 * r < n ? from[first + 32 * r] : 0;
}

__device__ void sweep(
    const unsigned int* from, unsigned int* to, int n, int tiles, int shift, unsigned int total,
    unsigned int* published, Shared& s)
{
    const int t = threadIdx.x, warp = t / 32, inside = warp * (TILE / WARPS) + t % 32;
    const unsigned int begin = sum_before(total);  // of digit t in the whole array
    unsigned int key[ROWS], place[ROWS];
    if (blockIdx.x < tiles) fetch(from, n, blockIdx.x * TILE + inside, key);
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        for (int i = t; i < WARPS * DIGITS; i += THREADS) s.of_warps[i / DIGITS][i % DIGITS] = 0;
        const int first = tile * TILE + inside;
        if (shift == 0)
#pragma unroll
            for (int r = 0; r < ROWS; ++r) key[r] = ranked(key[r]);
        __syncthreads();
        rank(n, first, shift, key, place, s.of_warps[warp]);
        __syncthreads();
        unsigned int own = 0;
        if (t < DIGITS) {
            for (int w = 0; w < WARPS; ++w) own += s.of_warps[w][t];
            publish(published + tile * DIGITS + t, OWN | own);
        }
        unsigned int at = sum_before(own);  // where the tile's keys of digit t begin in the tile
        if (t < DIGITS) {
            const unsigned int start = at;
            for (int w = 0; w < WARPS; ++w) {  // to where each warp's keys of digit t begin
                const unsigned int of_warp = s.of_warps[w][t];
                s.of_warps[w][t] = at;
                at += of_warp;
            }
            at = start;
        }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            if (first + 32 * r < n) s.in_order[s.of_warps[warp][key[r] >> shift & (DIGITS - 1)] + place[r]] = key[r];
        if (tile + (int)gridDim.x < tiles) fetch(from, n, first + (int)gridDim.x * TILE, key);
        if (t < DIGITS) {
            const unsigned int before = look_back(published, tile);
            publish(published + tile * DIGITS + t, RUNNING | (before + own));
            s.away[t] = begin + before - at;  // from there to where they begin in the array
        }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int i = t + r * THREADS;
            if (tile * TILE + i >= n) break;
            const unsigned int moved = s.in_order[i];
            to[s.away[moved >> shift & (DIGITS - 1)] + i] = shift == 24 ? bits_of(moved) : moved;
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
radix_sort_large_tiles(const unsigned int* keys, unsigned int* ordered, unsigned int* scratch, int n)
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
