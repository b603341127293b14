// 03 one sweep: the digits of all four passes are counted at once. In a pass a tile publishes how many keys of each
//   digit it has, and looks back over its predecessors until one knows the count of all up to it.
//
// Moves: bytes, from 48 to 36 for each key: a pass reads the keys once. Barriers of the whole grid, from twelve to six.
// Mapping: tile k of 4096 keys -> block k, k + blocks ... Warp w of a block -> 512 keys, 16 rows of 32. Thread t ->
//   digit t, also in looking back.
//
// entry: radix_sort_one_sweep
// block: 256
// grid: min(ceil(n/4096), 4*SMS)
// cooperative: yes

#include <cooperative_groups.h>

namespace cg = cooperative_groups;
constexpr int DIGITS = 256;
constexpr int THREADS = DIGITS;
constexpr int WARPS = THREADS / 32;
constexpr int ROWS = 16;  // keys of a thread
constexpr int TILE = THREADS * ROWS;
constexpr unsigned int ALL_LANES = 0xffffffffu;

constexpr int PASSES = 4;
constexpr unsigned int OWN = 1u << 30, RUNNING = 2u << 30, COUNT = OWN - 1;  // what a tile has published, and its count

// Where each of a tile's keys stands among those of its digit and warp; `counts` are the warp's own. Row by row: lanes
// of one digit find each other, and the first of them adds them all, so that keys stay in their order.
__device__ __forceinline__ void rank(
    const unsigned int* from, int n, int first, int shift, unsigned int (&key)[ROWS], unsigned int (&place)[ROWS],
    unsigned int* counts)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) key[r] = first + 32 * r < n ? from[first + 32 * r] : 0;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const bool there = first + 32 * r < n;
        const unsigned int digit = key[r] >> shift & (DIGITS - 1);
        const unsigned int alike = __match_any_sync(ALL_LANES, there ? digit : DIGITS);
        const unsigned int earlier = alike & ((1u << lane) - 1);
        const unsigned int so_far = there ? counts[digit] : 0;
        __syncwarp();
        if (there && earlier == 0) counts[digit] = so_far + __popc(alike);
        __syncwarp();
        place[r] = so_far + __popc(earlier);
    }
}

// Sum of the values of all threads before this one; each thread has a digit.
__device__ __forceinline__ unsigned int sum_before(unsigned int value)
{
    __shared__ unsigned int of_warps[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned int sum = value;
    for (int distance = 1; distance < 32; distance *= 2) {
        const unsigned int other = __shfl_up_sync(ALL_LANES, sum, distance);
        if (lane >= distance) sum += other;
    }
    __syncthreads();  // the last call's sums have been read
    if (lane == 31) of_warps[warp] = sum;
    __syncthreads();
    for (int w = 0; w < warp; ++w) sum += of_warps[w];
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
    for (int pass = 0; pass < PASSES; ++pass) of_block[pass][threadIdx.x] = 0;
    __syncthreads();
    for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < n; i += gridDim.x * (long long)THREADS)
        for (int pass = 0; pass < PASSES; ++pass) atomicAdd(&of_block[pass][keys[i] >> 8 * pass & (DIGITS - 1)], 1u);
    __syncthreads();
    for (int pass = 0; pass < PASSES; ++pass)
        atomicAdd(totals + pass * DIGITS + threadIdx.x, of_block[pass][threadIdx.x]);
}

__device__ void sweep(
    const unsigned int* from, unsigned int* to, int n, int tiles, int shift, unsigned int total,
    unsigned int* published)
{
    __shared__ unsigned int of_warps[WARPS][DIGITS];
    const int t = threadIdx.x, warp = t / 32;
    const unsigned int begin = sum_before(total);  // of digit t in the whole array
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        for (int w = 0; w < WARPS; ++w) of_warps[w][t] = 0;
        __syncthreads();
        unsigned int key[ROWS], place[ROWS];
        const int first = tile * TILE + warp * (TILE / WARPS) + t % 32;
        rank(from, n, first, shift, key, place, of_warps[warp]);
        __syncthreads();
        unsigned int own = 0;
        for (int w = 0; w < WARPS; ++w) own += of_warps[w][t];
        publish(published + tile * DIGITS + t, OWN | own);
        const unsigned int before = look_back(published, tile);
        publish(published + tile * DIGITS + t, RUNNING | (before + own));
        unsigned int at = begin + before;
        for (int w = 0; w < WARPS; ++w) {  // to where each warp's keys of digit t begin
            const unsigned int of_warp = of_warps[w][t];
            of_warps[w][t] = at;
            at += of_warp;
        }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            if (first + 32 * r < n) to[of_warps[warp][key[r] >> shift & (DIGITS - 1)] + place[r]] = key[r];
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
radix_sort_one_sweep(const unsigned int* keys, unsigned int* ordered, unsigned int* scratch, int n)
{
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
        const unsigned int total = totals[pass * DIGITS + threadIdx.x];
        sweep(from, pass % 2 ? ordered : scratch, n, tiles, 8 * pass, total, published + pass * DIGITS * tiles);
        cg::this_grid().sync();
    }
}
