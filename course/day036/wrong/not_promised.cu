// Not promised. The kernel calls grid.sync() and has few enough blocks, so that all of them fit. But an ordinary launch
// does not promise that they run at the same time, and has no place where they could meet.
//
// block: 256
// grid: min(ceil(n/256), 4*SMS)
// expect: trap

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

constexpr int THREADS = 256;
constexpr int MOST = 8 * 148;  // blocks: eight for each multiprocessor of the largest chip

__device__ float partial[MOST];  // a place for each block's sum

// The sum of v over the block, in every thread of it.
__device__ float block_sum(float v)
{
    __shared__ float of_warp[THREADS / 32];

    const cg::thread_block block = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(block);
    v = cg::reduce(warp, v, cg::plus<float>());
    block.sync();  // nobody reads the sums of the call before any more
    if (warp.thread_rank() == 0) of_warp[warp.meta_group_rank()] = v;
    block.sync();
    v = warp.thread_rank() < THREADS / 32 ? of_warp[warp.thread_rank()] : 0.0f;
    return cg::reduce(warp, v, cg::plus<float>());
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
remove_mean(const float* x, float* y, int n)
{
    const cg::grid_group grid = cg::this_grid();

    float v = 0.0f;
    for (long long i = grid.thread_rank(); i < n; i += grid.size()) v += x[i];
    v = block_sum(v);
    if (threadIdx.x == 0) partial[blockIdx.x] = v;
    grid.sync();  // every block has left its sum

    v = 0.0f;
    for (int b = threadIdx.x; b < gridDim.x; b += THREADS) v += partial[b];
    const float mean = block_sum(v) / n;
    for (long long i = grid.thread_rank(); i < n; i += grid.size()) y[i] = x[i] - mean;
}
