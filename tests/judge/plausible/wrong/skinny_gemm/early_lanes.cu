// grid: ceil(N/32) M
// block: 32
// fault: member mask
// kinds: member_mask wrong_result inactive_lane
// x goes from lane to lane by shuffles of the whole warp, after the lanes without an output have left.
#include <cuda_fp16.h>
__global__ void linear(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int n = blockIdx.x * 32 + threadIdx.x, m = blockIdx.y, K = 32 * steps;
    if (n >= N) return;
    float s = 0;
    for (int step = 0; step < steps; ++step) {
        const float mine = __half2float(x[(size_t)m * K + step * 32 + threadIdx.x]);
        for (int k = 0; k < 32; ++k)
            s += __shfl_sync(0xffffffffu, mine, k) * __half2float(weight[(size_t)n * K + step * 32 + k]);
    }
    y[(size_t)m * N + n] = __float2half(s + __half2float(bias[n]));
}
