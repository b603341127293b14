// 01 one block: a block can wait for itself, and so one does all of it.
//
// Moves: nothing yet. One multiprocessor is at work.
// Mapping: thread t -> elements t, t + 1024, t + 2048, ..., twice.
//
// entry: remove_mean_one_block
// block: 1024
// grid: 1

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

constexpr int THREADS = 1024;

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

extern "C" __global__ void remove_mean_one_block(const float* x, float* y, int n)
{
    float v = 0.0f;
    for (int i = threadIdx.x; i < n; i += THREADS) v += x[i];
    const float mean = block_sum(v) / n;
    for (int i = threadIdx.x; i < n; i += THREADS) y[i] = x[i] - mean;
}
