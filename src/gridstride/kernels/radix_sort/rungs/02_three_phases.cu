// 02 three phases: eight bits at a time, all multiprocessors. Tiles count their digits; the counts are added up, digit
//   by digit and tile by tile; each tile then knows where its keys of a digit begin.
//
// Moves: passes over the keys, from 64 to 8, by every multiprocessor.
// Mapping: tile k of 4096 keys -> block k, k + blocks ... Warp w -> 512 of them, 16 rows of 32. Thread t -> digit
//   t.
//
// entry: radix_sort_three_phases
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

// counts[digit][tile] of every tile of the block's.
__device__ void count(const unsigned int* from, int n, int tiles, int shift, unsigned int* counts)
{
    __shared__ unsigned int of_tile[DIGITS];
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        of_tile[threadIdx.x] = 0;
        __syncthreads();
        for (int i = tile * TILE + threadIdx.x; i < min(n, (tile + 1) * TILE); i += THREADS)
            atomicAdd(&of_tile[from[i] >> shift & (DIGITS - 1)], 1u);
        __syncthreads();
        counts[threadIdx.x * tiles + tile] = of_tile[threadIdx.x];
    }
}

// Each digit's counts become those of all tiles before; totals[digit] is that of all.
__device__ void add_up(int tiles, unsigned int* counts, unsigned int* totals)
{
    __shared__ unsigned int row_sum;
    for (int digit = blockIdx.x; digit < DIGITS; digit += gridDim.x) {
        unsigned int before = 0;
        for (int first = 0; first < tiles; first += THREADS) {
            const int tile = first + threadIdx.x;
            const unsigned int mine = tile < tiles ? counts[digit * tiles + tile] : 0;
            const unsigned int sum = before + sum_before(mine);
            if (tile < tiles) counts[digit * tiles + tile] = sum;
            if (threadIdx.x == THREADS - 1) row_sum = sum + mine;
            __syncthreads();
            before = row_sum;
            __syncthreads();
        }
        if (threadIdx.x == 0) totals[digit] = before;
    }
}

__device__ void scatter(
    const unsigned int* from, unsigned int* to, int n, int tiles, int shift, const unsigned int* counts,
    const unsigned int* totals)
{
    __shared__ unsigned int of_warps[WARPS][DIGITS];
    const int t = threadIdx.x, warp = t / 32;
    const unsigned int begin = sum_before(totals[t]);  // of digit t in the whole array
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        for (int w = 0; w < WARPS; ++w) of_warps[w][t] = 0;
        __syncthreads();
        unsigned int key[ROWS], place[ROWS];
        const int first = tile * TILE + warp * (TILE / WARPS) + t % 32;
        rank(from, n, first, shift, key, place, of_warps[warp]);
        __syncthreads();
        unsigned int at = begin + counts[t * tiles + tile];
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
radix_sort_three_phases(const unsigned int* keys, unsigned int* ordered, unsigned int* scratch, int n)
{
    const int tiles = (n + TILE - 1) / TILE;
    unsigned int* totals = scratch + n;
    unsigned int* counts = totals + DIGITS;
    for (int pass = 0; pass < 4; ++pass) {
        const unsigned int* from = pass == 0 ? keys : pass % 2 ? scratch : ordered;
        count(from, n, tiles, 8 * pass, counts);
        cg::this_grid().sync();
        add_up(tiles, counts, totals);
        cg::this_grid().sync();
        scatter(from, pass % 2 ? ordered : scratch, n, tiles, 8 * pass, counts, totals);
        cg::this_grid().sync();
    }
}
