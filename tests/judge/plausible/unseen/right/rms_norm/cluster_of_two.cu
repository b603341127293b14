// grid: 2*N
// block: 64
// Two blocks of a cluster share a row and swap their sums through each other's shared memory.

#include <cooperative_groups.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float warps[2], sum;
    const auto cluster = cg::this_cluster();
    const int rank = cluster.block_rank();
    const size_t at = (size_t)(blockIdx.x / 2) * W;
    float v = 0.0f;
    for (int i = rank * 64 + threadIdx.x; i < W; i += 128) {
        const __half h = __float2half(__half2float(residual[at + i]) + __half2float(delta[at + i]));
        residual[at + i] = h;
        v = fmaf(__half2float(h), __half2float(h), v);
    }
    for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) sum = warps[0] + warps[1];
    cluster.sync();
    const float all = *cluster.map_shared_rank(&sum, 0) + *cluster.map_shared_rank(&sum, 1);
    cluster.sync();
    const float scale = rsqrtf(all / W + eps);
    for (int i = rank * 64 + threadIdx.x; i < W; i += 128) out[at + i] = __float2half(__half2float(residual[at + i]) * scale * __half2float(weight[i]));
}
