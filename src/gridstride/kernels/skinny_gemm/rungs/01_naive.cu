// 01 naive: one thread per element of y.
//
// Moves: nothing yet. Neighbouring lanes read weights a row apart, so a request touches 32 sectors, and every weight is
//   read again for each row of x.
// Mapping: thread t of block (b, m) -> y[m][128 b + t].
//
// entry: skinny_gemm_naive
// block: 128
// grid: ceil(N/128) M

#include <cuda_fp16.h>

extern "C" __global__ void skinny_gemm_naive(
    const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y;
    if (n >= N) return;
    const int K = 32 * steps;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += __half2float(x[(size_t)m * K + k]) * __half2float(weight[(size_t)n * K + k]);
    y[(size_t)m * N + n] = __float2half(sum + __half2float(bias[n]));
}
