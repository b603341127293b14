// grid: N
// block: 32
// fault: device variable
// kinds: wrong_result race
// 1 / W is worked out once and kept in a device variable: wrong for rows of another width later.
#include <cuda_fp16.h>
__device__ unsigned inverse_bits;
__global__ void rms(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    unsigned mine = __float_as_uint(1.0f / W), old = atomicCAS(&inverse_bits, 0u, mine);
    float inverse = __uint_as_float(old ? old : mine), q = 0;
    size_t base = (size_t)blockIdx.x * W;
    for (int i = threadIdx.x; i < W; i += 32) {
        float v = __half2float(residual[base + i]) + __half2float(delta[base + i]);
        residual[base + i] = __float2half(v);
        q += v * v;
    }
    for (int k = 16; k; k >>= 1) q += __shfl_xor_sync(~0u, q, k);
    float scale = rsqrtf(q * inverse + eps);
    for (int i = threadIdx.x; i < W; i += 32) out[base + i] = __float2half(__half2float(residual[base + i]) * scale * __half2float(weight[i]));
}
