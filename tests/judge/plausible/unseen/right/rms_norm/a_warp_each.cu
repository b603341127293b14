// grid: ceil(N/3)
// block: 32 3
//
// A warp for each row, three to a block; cooperative groups reduce.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const int row = blockIdx.x * 3 + threadIdx.y;
    if (row >= N) return;
    const size_t start = (size_t)row * W;
    float squares = 0.0f;
    for (int i = warp.thread_rank(); i < W; i += warp.size()) {
        const __half v = __float2half_rn(__half2float(residual[start + i]) + __half2float(delta[start + i]));
        residual[start + i] = v;
        squares += __half2float(v) * __half2float(v);
    }
    squares = cg::reduce(warp, squares, cg::plus<float>());
    const float scale = rsqrtf(squares / W + eps);
    for (int i = warp.thread_rank(); i < W; i += warp.size())
        out[start + i] = __float2half_rn(__half2float(residual[start + i]) * scale * __half2float(weight[i]));
}
