// Sums in half: products are added up in 16 bits.
//
// entry: skinny_gemm_sums_in_half
// block: 128
// grid: ceil(N/128) M
// expect: wrong_result

#include <cuda_fp16.h>

extern "C" __global__ void skinny_gemm_sums_in_half(
    const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y, K = 32 * steps;
    if (n >= N) return;
    __half sum = bias[n];
    for (int k = 0; k < K; ++k) sum = __hfma(x[(size_t)m * K + k], weight[(size_t)n * K + k], sum);
    y[(size_t)m * N + n] = sum;
}
