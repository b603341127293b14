// 03 blelloch: a tree of sums is built upwards and taken down again, 2 * 512 additions for 512 elements; and all
// multiprocessors work, each block on a stretch of its own.
//
// Moves: additions for each element, from 10 to 2, and blocks, from 1 to 2 on each multiprocessor. The price: x is
//   read twice, 12 bytes for each element where 8 must move, and strides that are powers of two meet in the banks.
// Mapping: thread t -> pair number t of each level's nodes. Block b -> tiles b * share ... (b + 1) * share - 1. First
//   each block adds up its stretch; behind a barrier of the whole grid it adds up what the blocks before it have left,
//   and scans its stretch from there.
//
// entry: scan_blelloch
// block: 256
// grid: min(ceil(n/4096), 2*SMS)
// cooperative: yes

#include <cooperative_groups.h>

constexpr int THREADS = 256;
constexpr int TILE = 2 * THREADS;     // elements
constexpr int MOST_BLOCKS = 1024;     // two on each of 512 multiprocessors

__device__ float block_sums[MOST_BLOCKS];

// The level of the tree at which nodes are `distance` apart: the index of the left one of pair `t`.
__device__ __forceinline__ int left_node(int t, int distance)
{
    return distance * (2 * t + 1) - 1;
}

// Sums of 2, 4, 8 ... neighbours, in place; the whole sum ends in the last element.
__device__ void up_sweep(float* tile)
{
    int distance = 1;
    for (int pairs = TILE / 2; pairs > 0; pairs /= 2) {
        __syncthreads();
        const int left = left_node(threadIdx.x, distance);
        if (threadIdx.x < pairs) tile[left + distance] += tile[left];
        distance *= 2;
    }
    __syncthreads();
}

// Takes the tree down: each node gives its left child what lies before both, its right child that and the left sum.
__device__ void down_sweep(float* tile)
{
    if (threadIdx.x == 0) tile[TILE - 1] = 0.0f;
    int distance = TILE / 2;
    for (int pairs = 1; pairs < TILE; pairs *= 2) {
        __syncthreads();
        if (threadIdx.x < pairs) {
            const int left = left_node(threadIdx.x, distance), right = left + distance;
            const float left_sum = tile[left];
            tile[left] = tile[right];
            tile[right] += left_sum;
        }
        distance /= 2;
    }
    __syncthreads();
}

// The sum of one value of each thread, in every thread.
__device__ float block_sum(float value, float* tile)
{
    tile[threadIdx.x] = value;
    tile[threadIdx.x + THREADS] = 0.0f;
    up_sweep(tile);
    const float sum = tile[TILE - 1];
    __syncthreads();
    return sum;
}

extern "C" __global__ void __launch_bounds__(THREADS)
scan_blelloch(const float* __restrict__ x, float* __restrict__ y, int n)
{
    __shared__ float tile[TILE];

    const int t = threadIdx.x;
    const long long tiles = (n + (long long)TILE - 1) / TILE, share = (tiles + gridDim.x - 1) / gridDim.x;
    const long long begin = blockIdx.x * share * TILE, end = min((long long)n, begin + share * TILE);

    float sum = 0.0f;
    for (long long i = begin + t; i < end; i += THREADS) sum += x[i];
    sum = block_sum(sum, tile);
    if (t == 0) block_sums[blockIdx.x] = sum;
    cooperative_groups::this_grid().sync();

    float before = 0.0f;  // sum of all blocks before this one, then of this one's tiles too
    for (int b = t; b < blockIdx.x; b += THREADS) before += block_sums[b];
    before = block_sum(before, tile);

    for (long long first = begin; first < end; first += TILE) {
        const long long low = first + t, high = low + THREADS;
        const float x_low = low < end ? x[low] : 0.0f, x_high = high < end ? x[high] : 0.0f;
        tile[t] = x_low;
        tile[t + THREADS] = x_high;
        up_sweep(tile);
        const float sum_of_tile = tile[TILE - 1];
        __syncthreads();  // everybody has read it before the way down puts a zero there
        down_sweep(tile);
        if (low < end) y[low] = before + (tile[t] + x_low);  // exclusive to inclusive: each adds its own
        if (high < end) y[high] = before + (tile[t + THREADS] + x_high);
        before += sum_of_tile;
        __syncthreads();
    }
}
