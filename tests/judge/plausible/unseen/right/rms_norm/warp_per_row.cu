// grid: ceil(N/3)
// block: 32 3
// A warp per row, three to a block, with cooperative groups' reduce; no shared memory, and rows that do not exist leave at once.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;

__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const int n = blockIdx.x * 3 + threadIdx.y;
    if (n >= N) return;
    __half* r = residual + (size_t)n * W;
    float sum = 0.0f;
    for (int i = warp.thread_rank(); i < W; i += 32) {
        r[i] = __float2half(__half2float(r[i]) + __half2float(delta[(size_t)n * W + i]));
        sum = fmaf(__half2float(r[i]), __half2float(r[i]), sum);
    }
    const float scale = rsqrtf(cg::reduce(warp, sum, cg::plus<float>()) / W + eps);
    for (int i = warp.thread_rank(); i < W; i += 32) out[(size_t)n * W + i] = __float2half(__half2float(r[i]) * scale * __half2float(__ldg(weight + i)));
}
