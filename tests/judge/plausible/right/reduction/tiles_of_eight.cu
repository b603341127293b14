// grid: SMS
// block: 64
// Cooperative groups: tiles of 8 lanes add up among themselves, the block's tiles by an atomic in shared memory.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void sum_tiles(const float* x, float* total, int n)
{
    __shared__ float sum;
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    if (block.thread_rank() == 0) sum = 0.0f;
    block.sync();
    float v = 0.0f;
    for (long long i = blockIdx.x * 64 + threadIdx.x; i < n; i += 64 * gridDim.x) v += x[i];
    v = cg::reduce(tile, v, cg::plus<float>());
    if (tile.thread_rank() == 0) atomicAdd(&sum, v);
    block.sync();
    if (block.thread_rank() == 0) atomicAdd(total, sum);
}
