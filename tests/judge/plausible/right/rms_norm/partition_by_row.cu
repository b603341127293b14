// grid: ceil(N/8)
// block: 8 16
// Eight rows per block, 16 threads each; threads of a row in a warp find each other by labeled_partition.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
__global__ void rms(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float total[8];
    const int n = blockIdx.x * 8 + threadIdx.x;
    const size_t base = (size_t)n * W;
    if (threadIdx.y == 0) total[threadIdx.x] = 0.0f;
    __syncthreads();
    float q = 0;
    for (int i = threadIdx.y; n < N && i < W; i += 16) {
        const float v = __half2float(residual[base + i]) + __half2float(delta[base + i]);
        residual[base + i] = __float2half(v);
        q += v * v;
    }
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto same_row = cg::labeled_partition(warp, threadIdx.x);
    q = cg::reduce(same_row, q, cg::plus<float>());
    if (same_row.thread_rank() == 0) atomicAdd(&total[threadIdx.x], q);
    __syncthreads();
    const float scale = rsqrtf(total[threadIdx.x] / W + eps);
    for (int i = threadIdx.y; n < N && i < W; i += 16)
        out[base + i] = __float2half(__half2float(residual[base + i]) * scale * __half2float(weight[i]));
}
