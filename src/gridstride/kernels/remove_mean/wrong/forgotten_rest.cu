// Forgotten rest: a mean of 1024 elements for each block, whatever the last one has.
//
// entry: remove_mean_forgotten_rest
// block: 256
// grid: min(ceil(n/256), 2*SMS)
// cooperative: yes
// expect: wrong_result

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

constexpr int THREADS = 256;
constexpr int MOST = 65536;

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

extern "C" __global__ void remove_mean_forgotten_rest(const float* x, float* y, int n)
{
    const cg::grid_group grid = cg::this_grid();

    float v = 0.0f;
    for (long long i = grid.thread_rank(); i < n; i += grid.size()) v += x[i];
    v = block_sum(v);
    if (threadIdx.x == 0) partial[blockIdx.x] = v;
    grid.sync();

    v = 0.0f;
    for (int b = threadIdx.x; b < gridDim.x; b += THREADS) v += partial[b];
    const float mean = block_sum(v) / (1024.0f * ((n + 1023) / 1024));
    for (long long i = grid.thread_rank(); i < n; i += grid.size()) y[i] = x[i] - mean;
}
