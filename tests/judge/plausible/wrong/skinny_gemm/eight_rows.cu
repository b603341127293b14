// grid: ceil(N/4)
// block: 32 4
// fault: fixed count
// kinds: wrong_result
// Room for eight rows of x in registers: rows from the ninth on are not computed.
#include <cuda_fp16.h>
__global__ void gemv8(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    int n = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x, K = steps * 32;
    if (n >= N) return;
    float acc[8] = {};
    for (int k = lane; k < K; k += 32) {
        float w = __half2float(weight[(size_t)n * K + k]);
#pragma unroll
        for (int m = 0; m < 8; ++m)
            if (m < M) acc[m] += w * __half2float(x[(size_t)m * K + k]);
    }
    for (int m = 0; m < 8; ++m) {
        for (int o = 16; o; o /= 2) acc[m] += __shfl_xor_sync(~0u, acc[m], o);
        if (lane == 0 && m < M) y[(size_t)m * N + n] = __float2half(acc[m] + __half2float(bias[n]));
    }
}
