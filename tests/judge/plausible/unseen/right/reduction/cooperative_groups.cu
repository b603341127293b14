// grid: SMS
// block: 288
//
// Cooperative groups: tiles of 16 reduce, one leader per tile adds to shared memory, one thread to memory.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float sum;
    const cg::thread_block block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<16>(block);
    if (block.thread_rank() == 0) sum = 0.0f;
    block.sync();
    float v = 0.0f;
    for (long long i = cg::this_grid().thread_rank(); i < n; i += cg::this_grid().size()) v += x[i];
    v = cg::reduce(tile, v, cg::plus<float>());
    if (tile.thread_rank() == 0) atomicAdd_block(&sum, v);
    block.sync();
    if (block.thread_rank() == 0) atomicAdd(total, sum);
}
