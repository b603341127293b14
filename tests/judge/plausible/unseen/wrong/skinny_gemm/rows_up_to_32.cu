// grid: ceil(N/64)
// block: 64
// fault: fixed count
// kinds: wrong_result uninitialised_read
// "Few rows" are taken to be 32 at most: row 33 is never written.

#include <cuda_fp16.h>

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int n = blockIdx.x * 64 + threadIdx.x, K = 32 * steps;
    if (n >= N) return;
    float sums[32] = {};
    for (int k = 0; k < K; ++k) {
        const float w = __half2float(weight[(size_t)n * K + k]);
#pragma unroll
        for (int m = 0; m < 32; ++m)
            if (m < M) sums[m] += w * __half2float(x[m * K + k]);
    }
    for (int m = 0; m < 32; ++m)
        if (m < M) y[(size_t)m * N + n] = __float2half(sums[m] + __half2float(bias[n]));
}
