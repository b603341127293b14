// grid: 2*rows
// block: 256
// needs: 9.0
// fault: cluster block exits early
// kinds: exited_block
// A block may end while others of its cluster still read its shared memory: the last cluster.sync() is missing.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(2, 1, 1) softmax(const float* x, float* y, int rows, int columns)
{
    __shared__ float s[256];
    __shared__ float both[2];
    cg::cluster_group cluster = cg::this_cluster();
    int rank = cluster.block_rank(), t = threadIdx.x;
    const float* row = x + (size_t)(blockIdx.x / 2) * columns;
    float m = -INFINITY, sum = 0;
    for (int c = rank * 256 + t; c < columns; c += 512) m = fmaxf(m, row[c]);
    s[t] = m;
    __syncthreads();
    for (int d = 128; d; d >>= 1) {
        if (t < d) s[t] = fmaxf(s[t], s[t + d]);
        __syncthreads();
    }
    if (t == 0) both[0] = s[0];
    cluster.sync();
    m = fmaxf(both[0], cluster.map_shared_rank(both, rank ^ 1)[0]);
    for (int c = rank * 256 + t; c < columns; c += 512) sum += expf(row[c] - m);
    s[t] = sum;
    __syncthreads();
    for (int d = 128; d; d >>= 1) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) both[1] = s[0];
    cluster.sync();
    sum = both[1] + cluster.map_shared_rank(both, rank ^ 1)[1];
    for (int c = rank * 256 + t; c < columns; c += 512) y[(size_t)(blockIdx.x / 2) * columns + c] = expf(row[c] - m) / sum;
}
