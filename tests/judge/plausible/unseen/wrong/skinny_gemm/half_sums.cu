// grid: N
// block: 32
// fault: wrong formula
// kinds: wrong_result
// Each lane adds its products in float16: sums of hundreds of one sign lose their last bits with every term (sums of one sign, normal data with many steps).

#include <cuda_fp16.h>

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int n = blockIdx.x, lane = threadIdx.x, depth = 32 * steps;
    for (int m = 0; m < M; ++m) {
        __half2 sum = __float2half2_rn(0.0f);
        for (int k = 2 * lane; k < depth; k += 64)
            sum = __hfma2(*reinterpret_cast<const __half2*>(x + (size_t)m * depth + k), *reinterpret_cast<const __half2*>(weight + (size_t)n * depth + k), sum);
        float total = __low2float(sum) + __high2float(sum);
        for (int d = 16; d > 0; d >>= 1) total += __shfl_xor_sync(0xffffffffu, total, d);
        if (lane == 0) y[(size_t)m * N + n] = __float2half(total + __half2float(bias[n]));
    }
}
