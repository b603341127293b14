// grid: N
// block: 128
// fault: divergent barrier
// kinds: barrier_divergence deadlock race wrong_result
// A tree with barriers inside the loop over the row: threads go through that loop a different number of times unless W % 128 is 0.
#include <cuda_fp16.h>
__global__ void rms(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float s[128], total;
    int t = threadIdx.x;
    size_t base = (size_t)blockIdx.x * W;
    if (t == 0) total = 0;
    for (int i = t; i < W; i += 128) {
        float v = __half2float(residual[base + i]) + __half2float(delta[base + i]);
        residual[base + i] = __float2half(v);
        s[t] = v * v;
        for (int k = 64; k; k /= 2) {
            __syncthreads();
            if (t < k) s[t] += s[t + k];
        }
        if (t == 0) total += s[0];
    }
    __syncthreads();
    float scale = rsqrtf(total / W + eps);
    for (int i = t; i < W; i += 128) out[base + i] = __float2half(__half2float(residual[base + i]) * scale * __half2float(weight[i]));
}
