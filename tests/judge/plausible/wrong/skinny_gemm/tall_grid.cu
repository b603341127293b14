// grid: 1 ceil(M*N/2)
// block: 32 2
// fault: launch
// kinds: launch
// An output per warp, two warps per block, along y: 32 x 4096 outputs are 65,536 blocks.
#include <cuda_fp16.h>
__global__ void linear(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    int e = blockIdx.y * 2 + threadIdx.y, K = 32 * steps;
    if (e >= M * N) return;
    int m = e / N, n = e % N;
    float s = 0;
    for (int k = threadIdx.x; k < K; k += 32) s += __half2float(x[m * K + k]) * __half2float(weight[n * K + k]);
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    if (threadIdx.x == 0) y[e] = __float2half(s + __half2float(bias[n]));
}
