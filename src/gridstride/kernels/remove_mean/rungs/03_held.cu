// 03 held: what a thread has read stays in its registers while it waits; only what does not fit is read again.
//
// Moves: loads of x, to a half, for up to 8 elements for each thread that the chip holds.
// Mapping: thread g of G in the grid -> elements g, g + G, g + 2G, ...; the first eight are held.
//
// entry: remove_mean_held
// block: 512
// grid: min(ceil(n/512), 2*SMS)
// cooperative: yes

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

constexpr int THREADS = 512;
constexpr int HELD = 8;     // elements of a thread in registers
constexpr int MOST = 1024;  // blocks: two for each multiprocessor of any chip

__device__ float partial[MOST];

// The sum of v over the block, in every thread.
__device__ float block_sum(float v)
{
    __shared__ float of_warp[THREADS / 32];

    const cg::thread_block block = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(block);
    v = cg::reduce(warp, v, cg::plus<float>());
    block.sync();  // nobody reads the sums of a call before
    if (warp.thread_rank() == 0) of_warp[warp.meta_group_rank()] = v;
    block.sync();
    v = warp.thread_rank() < THREADS / 32 ? of_warp[warp.thread_rank()] : 0.0f;
    return cg::reduce(warp, v, cg::plus<float>());
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
remove_mean_held(const float* x, float* y, int n)
{
    const cg::grid_group grid = cg::this_grid();
    const long long first = grid.thread_rank(), step = grid.size();

    float held[HELD];
    float v = 0.0f;
#pragma unroll
    for (int k = 0; k < HELD; ++k) {
        held[k] = first + k * step < n ? x[first + k * step] : 0.0f;
        v += held[k];
    }
    for (long long i = first + HELD * step; i < n; i += step) v += x[i];
    v = block_sum(v);
    if (threadIdx.x == 0) partial[blockIdx.x] = v;
    grid.sync();

    v = 0.0f;
    for (int b = threadIdx.x; b < gridDim.x; b += THREADS) v += partial[b];
    const float mean = block_sum(v) / n;
#pragma unroll
    for (int k = 0; k < HELD; ++k) {
        if (first + k * step < n) y[first + k * step] = held[k] - mean;
    }
    for (long long i = first + HELD * step; i < n; i += step) y[i] = x[i] - mean;
}
