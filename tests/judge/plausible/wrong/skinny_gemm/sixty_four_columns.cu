// grid: ceil(N/8) M
// block: 32 8
// fault: tail of 64
// kinds: wrong_result
// A warp takes 64 columns at a time, as pairs: with an odd number of steps the last 32 columns are left out.
#include <cuda_fp16.h>
__global__ void warp_dot(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    int n = blockIdx.x * 8 + threadIdx.y, m = blockIdx.y, K = 32 * steps;
    if (n >= N) return;
    float s = 0;
    for (int k = 0; k < K / 64; ++k) {
        float2 a = __half22float2(((const __half2*)(x + (size_t)m * K))[k * 32 + threadIdx.x]);
        float2 b = __half22float2(((const __half2*)(weight + (size_t)n * K))[k * 32 + threadIdx.x]);
        s += a.x * b.x + a.y * b.y;
    }
    for (int o = 16; o; o >>= 1) s += __shfl_down_sync(0xffffffffu, s, o);
    if (threadIdx.x == 0) y[(size_t)m * N + n] = __float2half(s + __half2float(bias[n]));
}
