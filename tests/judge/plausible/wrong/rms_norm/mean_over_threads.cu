// grid: N
// block: 128
// fault: small sizes
// kinds: wrong_result
// Divides by the larger of W and the number of threads: rows of fewer than 128 elements come out too large.
#include <cuda_fp16.h>
__global__ void rms(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float s[4];
    size_t base = (size_t)blockIdx.x * W;
    const int per_thread = (W + 127) / 128;
    float q = 0;
    for (int k = 0; k < per_thread; ++k) {
        int i = k * 128 + threadIdx.x;
        if (i >= W) break;
        float v = __half2float(residual[base + i]) + __half2float(delta[base + i]);
        residual[base + i] = __float2half(v);
        q += v * v;
    }
    for (int k = 16; k; k >>= 1) q += __shfl_xor_sync(~0u, q, k);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = q;
    __syncthreads();
    float mean = (s[0] + s[1] + s[2] + s[3]) / max(W, (int)blockDim.x);
    for (int i = threadIdx.x; i < W; i += 128)
        out[base + i] = __float2half(__half2float(residual[base + i]) * rsqrtf(mean + eps) * __half2float(weight[i]));
}
