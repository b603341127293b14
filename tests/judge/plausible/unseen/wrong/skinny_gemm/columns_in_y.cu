// grid: M N
// block: 32
// fault: launch
// kinds: launch
// A warp per number of y with the column in the grid's y: N = 70000 is more than the 65535 that hardware takes (N > 65535).

#include <cuda_fp16.h>

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int m = blockIdx.x, n = blockIdx.y, depth = 32 * steps;
    float sum = 0.0f;
    for (int k = threadIdx.x; k < depth; k += 32) sum = fmaf(__half2float(x[(size_t)m * depth + k]), __half2float(weight[(size_t)n * depth + k]), sum);
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x == 0) y[(size_t)m * N + n] = __float2half(sum + __half2float(bias[n]));
}
