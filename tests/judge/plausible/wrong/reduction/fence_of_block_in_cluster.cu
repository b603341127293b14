// grid: 2*min(max(1, ceil(n/512)), SMS)
// block: 32
// needs: 9.0
// fault: race
// kinds: race
// The sum is put into the peer's shared memory plainly and announced by an atomic on its flag behind
// __threadfence_block(): the fence's scope does not reach the other block of the cluster.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(2, 1, 1) sum(const float* x, float* total, int n)
{
    auto c = cg::this_cluster();
    __shared__ float box;
    __shared__ int flag;
    if (threadIdx.x == 0) flag = 0;
    c.sync();
    float v = 0;
    for (long long i = blockIdx.x * 32LL + threadIdx.x; i < n; i += gridDim.x * 32LL) v += x[i];
    for (int o = 16; o; o /= 2) v += __shfl_xor_sync(~0u, v, o);
    if (threadIdx.x == 0) {
        if (c.block_rank() == 1) {
            *c.map_shared_rank(&box, 0) = v;
            __threadfence_block();
            atomicExch(c.map_shared_rank(&flag, 0), 1);
        } else {
            while (atomicAdd(&flag, 0) == 0) ;
            __threadfence_block();
            atomicAdd(total, v + box);
        }
    }
    c.sync();
}
