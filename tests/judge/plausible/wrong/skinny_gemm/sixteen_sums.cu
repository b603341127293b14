// grid: ceil(N/128) 2
// block: 128
// fault: fixed count
// kinds: wrong_result
// Each half of the rows is added up in an array of 16 in registers: with M above 32 rows share a sum.
#include <cuda_fp16.h>
__global__ void rows16(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    int n = blockIdx.x * 128 + threadIdx.x, K = 32 * steps;
    if (n >= N) return;
    float acc[16] = {};
    int first = blockIdx.y * 16, last = blockIdx.y == 1 ? M : min(M, 16);
    for (int k = 0; k < K; ++k) {
        float w = __half2float(weight[(size_t)n * K + k]);
        for (int m = first; m < last; ++m) acc[(m - first) & 15] += w * __half2float(x[(size_t)m * K + k]);
    }
    for (int m = first; m < last; ++m) y[(size_t)m * N + n] = __float2half(acc[(m - first) & 15] + __half2float(bias[n]));
}
