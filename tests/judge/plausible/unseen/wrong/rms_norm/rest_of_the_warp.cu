// grid: N
// block: 32
// fault: divergent shuffle
// kinds: member_mask inactive_lane wrong_result
// The sum is handed on within the loop over columns: in the last round of W % 32 != 0 only some lanes take part.

#include <cuda_fp16.h>

__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    const size_t row = (size_t)blockIdx.x * W;
    float all = 0.0f;
    for (int i = threadIdx.x; i < W; i += 32) {
        residual[row + i] = __hadd(residual[row + i], delta[row + i]);
        const float v = __half2float(residual[row + i]);
        float s = v * v;
        for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffff, s, o);
        all += s;
    }
    all = __shfl_sync(0xffffffff, all, 0);
    const float scale = rsqrtf(all / W + eps);
    for (int i = threadIdx.x; i < W; i += 32) out[row + i] = __float2half(__half2float(residual[row + i]) * scale * __half2float(weight[i]));
}
