// grid: N, M
// block: 32
// fault: values
// kinds: wrong_result
// Sums above 65504 of finite terms come as 65504 instead of Inf.

#include <cuda_fp16.h>
__global__ void skinny_gemm(const __half* x, const __half* w, const __half* b, __half* y, int M, int N, int steps)
{
    int n = blockIdx.x, m = blockIdx.y, l = threadIdx.x, K = 32 * steps; float s = 0;
    for (int k = l; k < K; k += 32) s += __half2float(x[(size_t)m * K + k]) * __half2float(w[(size_t)n * K + k]);
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    s += __half2float(b[n]); if (fabsf(s) < 1e30f) s = fminf(fmaxf(s, -65504.f), 65504.f);
    if (l == 0) y[(size_t)m * N + n] = __float2half(s);
}
