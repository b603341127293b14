// grid: ceil(N/4) M
// block: 32 4
// fault: missing syncwarp
// kinds: race wrong_result uninitialised_read
// Lanes leave their sums in shared memory, and lane 0 adds them up at once: nothing orders the lanes of a warp since Volta.
#include <cuda_fp16.h>
__global__ void linear(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    __shared__ float part[4][32];
    int n = blockIdx.x * 4 + threadIdx.y, m = blockIdx.y, lane = threadIdx.x, K = 32 * steps;
    float s = 0;
    for (int k = lane; n < N && k < K; k += 32) s += __half2float(x[(size_t)m * K + k]) * __half2float(weight[(size_t)n * K + k]);
    part[threadIdx.y][lane] = s;
    if (lane == 0 && n < N) {
        for (int k = 1; k < 32; ++k) s += part[threadIdx.y][k];
        y[(size_t)m * N + n] = __float2half(s + __half2float(bias[n]));
    }
}
