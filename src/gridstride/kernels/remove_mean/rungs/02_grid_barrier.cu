// 02 grid barrier: as many blocks as the chip holds, which wait for each other once.
//
// Moves: elements for each thread, from n / 1024 to n over all threads that the chip holds.
// Mapping: thread g of G in the grid -> elements g, g + G, g + 2G, ..., twice.
//
// entry: remove_mean_grid_barrier
// block: 1024
// grid: min(ceil(n/1024), 2*SMS)
// cooperative: yes

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

constexpr int THREADS = 1024;
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
remove_mean_grid_barrier(const float* x, float* y, int n)
{
    const cg::grid_group grid = cg::this_grid();

    float v = 0.0f;
    for (long long i = grid.thread_rank(); i < n; i += grid.size()) v += x[i];
    v = block_sum(v);
    if (threadIdx.x == 0) partial[blockIdx.x] = v;
    grid.sync();

    v = 0.0f;
    for (int b = threadIdx.x; b < gridDim.x; b += THREADS) v += partial[b];
    const float mean = block_sum(v) / n;
    for (long long i = grid.thread_rank(); i < n; i += grid.size()) y[i] = x[i] - mean;
}
