// grid: ceil(N/8)
// block: 32 8
// fault: wrong formula
// kinds: wrong_result
// A lane has a row of x, and there are 32 lanes: rows from 32 on are never computed (M = 33 to 36).

#include <cuda_fp16.h>

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int n = blockIdx.x * 8 + threadIdx.y, m = threadIdx.x, depth = 32 * steps;
    if (n >= N || m >= M) return;
    float sum = __half2float(bias[n]);
    for (int k = 0; k < depth; ++k) sum = fmaf(__half2float(x[(size_t)m * depth + k]), __half2float(weight[(size_t)n * depth + k]), sum);
    y[(size_t)m * N + n] = __float2half(sum);
}
