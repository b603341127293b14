// grid: max(1,N//2)
// block: 64 2
// fault: tail of 2
// kinds: wrong_result
// Two rows per block, the number of blocks rounded down: an odd N from 3 on loses its last row.
#include <cuda_fp16.h>
__global__ void rms(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float s[2][2];
    int n = blockIdx.x * 2 + threadIdx.y;
    size_t base = (size_t)n * W;
    float q = 0;
    for (int i = threadIdx.x; n < N && i < W; i += 64) {
        float v = __half2float(residual[base + i]) + __half2float(delta[base + i]);
        residual[base + i] = __float2half(v);
        q += v * v;
    }
    for (int k = 16; k; k >>= 1) q += __shfl_xor_sync(~0u, q, k);
    if (threadIdx.x % 32 == 0) s[threadIdx.y][threadIdx.x / 32] = q;
    __syncthreads();
    float scale = rsqrtf((s[threadIdx.y][0] + s[threadIdx.y][1]) / W + eps);
    for (int i = threadIdx.x; n < N && i < W; i += 64) out[base + i] = __float2half(__half2float(residual[base + i]) * scale * __half2float(weight[i]));
}
