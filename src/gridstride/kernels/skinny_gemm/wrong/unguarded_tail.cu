// Unguarded tail: the last block reads weight rows that there are not.
//
// entry: skinny_gemm_unguarded_tail
// block: 128
// grid: ceil(N/128) M
// expect: out_of_bounds

#include <cuda_fp16.h>

extern "C" __global__ void skinny_gemm_unguarded_tail(
    const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y, K = 32 * steps;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        const __half w = weight[(size_t)n * K + k];  // <- here
        sum += __half2float(x[(size_t)m * K + k]) * __half2float(w);
    }
    if (n < N) y[(size_t)m * N + n] = __float2half(sum + __half2float(bias[n]));
}
