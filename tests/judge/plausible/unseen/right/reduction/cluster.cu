// grid: 16
// block: 128
// Clusters of four blocks: the first adds up the sums that lie in the others' shared memory.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(4, 1, 1) reduction(const float* x, float* total, int n)
{
    __shared__ float warps[4], sum;
    const auto cluster = cg::this_cluster();
    const auto block = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(block);
    float v = 0.0f;
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) v += x[i];
    v = cg::reduce(warp, v, cg::plus<float>());
    if (warp.thread_rank() == 0) warps[warp.meta_group_rank()] = v;
    block.sync();
    if (block.thread_rank() == 0) sum = warps[0] + warps[1] + warps[2] + warps[3];
    cluster.sync();
    if (cluster.block_rank() == 0 && block.thread_rank() == 0) {
        float all = sum;
        for (int r = 1; r < 4; ++r) all += *cluster.map_shared_rank(&sum, r);
        atomicAdd(total, all);
    }
    cluster.sync();                              // the others stay until they have been read
}
