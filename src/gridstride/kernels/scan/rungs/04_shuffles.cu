// 04 shuffles: the lanes of a warp scan in registers, and a block only the sums of its warps.
//
// Moves: barriers for each tile, from 21 to 2; wavefronts of shared memory, to a few for each warp, without conflicts.
//   The bytes stay at 12 for each element.
// Mapping: thread t -> element t of the tile. Blocks and stretches as in 03.
//
// entry: scan_shuffles
// block: 512
// grid: min(ceil(n/4096), 2*SMS)
// cooperative: yes

#include <cooperative_groups.h>

constexpr int THREADS = 512;       // and elements of a tile
constexpr int WARPS = THREADS / 32;
constexpr int MOST_BLOCKS = 1024;  // two on each of 512 multiprocessors
constexpr unsigned int ALL_LANES = 0xffffffffu;

__device__ float block_sums[MOST_BLOCKS];

// Running sum over the lanes: lane k has that of lanes 0 to k.
__device__ __forceinline__ float warp_scan(float value)
{
    const int lane = threadIdx.x % 32;
    for (int distance = 1; distance < 32; distance *= 2) {
        const float before = __shfl_up_sync(ALL_LANES, value, distance);
        if (lane >= distance) value += before;
    }
    return value;
}

// Running sum over the threads of the block; `total` is the whole sum.
__device__ __forceinline__ float block_scan(float value, float* warp_sums, float& total)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum = warp_scan(value);
    if (lane == 31) warp_sums[warp] = sum;
    __syncthreads();
    const float scanned = warp_scan(lane < WARPS ? warp_sums[lane] : 0.0f);  // by every warp: no second exchange
    const float before = __shfl_sync(ALL_LANES, scanned, warp == 0 ? 0 : warp - 1);
    if (warp > 0) sum += before;
    total = __shfl_sync(ALL_LANES, scanned, WARPS - 1);
    __syncthreads();  // the next scan writes to warp_sums
    return sum;
}

extern "C" __global__ void __launch_bounds__(THREADS)
scan_shuffles(const float* __restrict__ x, float* __restrict__ y, int n)
{
    __shared__ float warp_sums[WARPS];

    const int t = threadIdx.x;
    const long long tiles = (n + (long long)THREADS - 1) / THREADS, share = (tiles + gridDim.x - 1) / gridDim.x;
    const long long begin = blockIdx.x * share * THREADS, end = min((long long)n, begin + share * THREADS);

    float sum = 0.0f, total;
    for (long long i = begin + t; i < end; i += THREADS) sum += x[i];
    block_scan(sum, warp_sums, total);
    if (t == 0) block_sums[blockIdx.x] = total;
    cooperative_groups::this_grid().sync();

    float before = 0.0f;  // sum of all blocks before this one, then of this one's tiles too
    for (int b = t; b < blockIdx.x; b += THREADS) before += block_sums[b];
    block_scan(before, warp_sums, before);

    for (long long i = begin + t; i - t < end; i += THREADS) {
        sum = block_scan(i < end ? x[i] : 0.0f, warp_sums, total);
        if (i < end) y[i] = before + sum;
        before += total;
    }
}
