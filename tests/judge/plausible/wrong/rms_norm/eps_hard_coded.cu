// grid: N
// block: 32
// fault: wrong formula
// kinds: wrong_result
// eps is written into the code as 1e-5 and the parameter ignored: wrong for any other eps and small rows.
#include <cuda_fp16.h>
#define EPS 1e-5f
__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    size_t row = (size_t)blockIdx.x * W;
    float q = 0;
    for (int i = threadIdx.x; i < W; i += 32) {
        float v = __half2float(residual[row + i]) + __half2float(delta[row + i]);
        residual[row + i] = __float2half(v);
        q += v * v;
    }
    for (int k = 16; k; k >>= 1) q += __shfl_xor_sync(0xffffffffu, q, k);
    float scale = rsqrtf(q / W + EPS);
    for (int i = threadIdx.x; i < W; i += 32) out[row + i] = __float2half(__half2float(residual[row + i]) * scale * __half2float(weight[i]));
}
