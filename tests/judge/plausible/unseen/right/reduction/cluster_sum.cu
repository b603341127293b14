// Clusters of four blocks add up in distributed shared memory; one atomic for each cluster.
// grid: 4*min(max(1, ceil(n/8192)), SMS)
// block: 256
// needs: 9.0
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(4) reduction(const float* x, float* total, int n)
{
    __shared__ float of_blocks[4], of_warps[8];
    auto cluster = cg::this_cluster();
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    float v = 0.0f;
    for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < n; i += (long long)gridDim.x * 256) v += x[i];
    v = cg::reduce(warp, v, cg::plus<float>());
    if (warp.thread_rank() == 0) of_warps[warp.meta_group_rank()] = v;
    cluster.sync();
    if (warp.meta_group_rank() == 0) {
        v = warp.thread_rank() < 8 ? of_warps[warp.thread_rank()] : 0.0f;
        v = cg::reduce(warp, v, cg::plus<float>());
        if (warp.thread_rank() == 0) *cluster.map_shared_rank(&of_blocks[cluster.block_rank()], 0) = v;
    }
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) atomicAdd(total, of_blocks[0] + of_blocks[1] + of_blocks[2] + of_blocks[3]);
}
