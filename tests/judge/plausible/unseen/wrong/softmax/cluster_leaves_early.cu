// grid: 2*rows
// block: 256
// needs: 9.0
// fault: cluster mistake
// kinds: exited_block
// Two blocks share a row and read each other's sum from shared memory; no cluster.sync() at the end, so a block may
// be gone when the other reads.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) softmax(const float* x, float* y, int rows, int columns)
{
    __shared__ float s[8];
    __shared__ float largest, total;
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank();
    const float* in = x + (size_t)(blockIdx.x / 2) * columns;
    float m = -INFINITY;
    for (int c = rank * 256 + threadIdx.x; c < columns; c += 512) m = fmaxf(m, in[c]);
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = m;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; ++w) m = fmaxf(m, s[w]);
        largest = m;
    }
    cluster.sync();
    m = fmaxf(largest, *cluster.map_shared_rank(&largest, rank ^ 1));
    float sum = 0;
    for (int c = rank * 256 + threadIdx.x; c < columns; c += 512) sum += expf(in[c] - m);
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; ++w) sum += s[w];
        total = sum;
    }
    cluster.sync();
    sum = total + *cluster.map_shared_rank(&total, rank ^ 1);
    for (int c = rank * 256 + threadIdx.x; c < columns; c += 512) y[(size_t)(blockIdx.x / 2) * columns + c] = expf(in[c] - m) / sum;
}
