// grid: 2*max(1, ceil(n/1024))
// block: 256
// needs: 9.0
// fault: race
// kinds: race
// Warp sums are put into the leader's shared memory through DSMEM, and the cluster barrier is arrive.relaxed:
// it orders no memory, so the leader may read old values.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(2) sum(const float* x, float* total, int n)
{
    __shared__ float s[16];
    cg::cluster_group c = cg::this_cluster();
    c.sync();
    float v = 0;
    for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += gridDim.x * 256LL) v += x[i];
    for (int o = 16; o; o /= 2) v += __shfl_xor_sync(~0u, v, o);
    float* to = c.map_shared_rank(s, 0);
    if (threadIdx.x % 32 == 0) to[c.block_rank() * 8 + threadIdx.x / 32] = v;
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    if (c.block_rank() == 0 && threadIdx.x == 0) {
        float t = 0;
        for (int i = 0; i < 16; i++) t += s[i];
        atomicAdd(total, t);
    }
}
