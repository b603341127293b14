// grid: ceil(n/1024)
// block: 256
// needs: 9.0
// fault: cluster launch shape
// kinds: launch
// Clusters of 4 blocks, but the grid is not rounded up to whole clusters: cudaErrorInvalidClusterSize/invalid
// configuration.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(4, 1, 1) reduction(const float* x, float* total, int n)
{
    __shared__ float s[8];
    __shared__ float sum;
    cg::cluster_group cluster = cg::this_cluster();
    float v = 0;
    for (int k = 0; k < 4; ++k) {
        int i = blockIdx.x * 1024 + k * 256 + threadIdx.x;
        if (i < n) v += x[i];
    }
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0;
        for (int w = 0; w < 8; ++w) sum += s[w];
    }
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        float all = 0;
        for (int r = 0; r < 4; ++r) all += *cluster.map_shared_rank(&sum, r);
        atomicAdd(total, all);
    }
    cluster.sync();
}
