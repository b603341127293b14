// grid: ceil(N/32) M
// block: 32
// fault: precision
// kinds: wrong_result
// The sum is rounded to half before the bias is added: infinite where the two would have come back into range.
#include <cuda_fp16.h>
__global__ void linear(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    int n = blockIdx.x * 32 + threadIdx.x, m = blockIdx.y, K = 32 * steps;
    if (n >= N) return;
    float s = 0, piece = 0;
    for (int k = 0; k < K; ++k) {
        piece += __half2float(x[(size_t)m * K + k]) * __half2float(weight[(size_t)n * K + k]);
        if (k % 32 == 31) {
            s += __half2float(__float2half(piece));
            piece = 0;
        }
    }
    y[(size_t)m * N + n] = __hadd(__float2half(s), bias[n]);
}
