// grid: ceil(N/4) M
// block: 128
// fault: uninitialised shared
// kinds: uninitialised_read wrong_result
// Each warp with an output notes whether its float32 sum left the range; __reduce_or_sync then goes over all four notes, of
// which the last block has written fewer where N % 4 is not 0. Where one did, sums are taken again in float64.
#include <cuda_fp16.h>
__global__ void linear(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    __shared__ unsigned large[4];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, n = blockIdx.x * 4 + warp, m = blockIdx.y, K = 32 * steps;
    float s = 0;
    if (n < N) {
        for (int k = lane; k < K; k += 32) s += __half2float(x[(size_t)m * K + k]) * __half2float(weight[(size_t)n * K + k]);
        for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
        if (lane == 0) large[warp] = fabsf(s) > 65504.0f;
    }
    __syncthreads();
    const unsigned any = __reduce_or_sync(~0u, large[lane % 4]);
    if (n >= N || lane != 0) return;
    if (any) {
        double again = 0;
        for (int k = 0; k < K; ++k) again += (double)__half2float(x[(size_t)m * K + k]) * __half2float(weight[(size_t)n * K + k]);
        s = (float)again;
    }
    y[(size_t)m * N + n] = __float2half(s + __half2float(bias[n]));
}
