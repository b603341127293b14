// grid: ceil(N/128) M 2
// block: 128
// fault: device state between launches
// kinds: wrong_result out_of_bounds
// Both halves of K are added to a device array that only the first launch finds at zero; and it has 1,024 times 40 places.

#include <cuda_fp16.h>

__device__ float halves[40 * 1024];
__device__ int arrived_at[40 * 1024];

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int n = blockIdx.x * 128 + threadIdx.x, m = blockIdx.y, K = 32 * steps;
    if (n >= N) return;
    const int from = blockIdx.z ? K / 2 : 0, to = blockIdx.z ? K : K / 2;
    float sum = 0.0f;
    for (int k = from; k < to; ++k) sum += __half2float(x[(size_t)m * K + k]) * __half2float(weight[(size_t)n * K + k]);
    const int cell = m * N + n;
    atomicAdd(&halves[cell], sum);
    __threadfence();
    if (atomicXor(&arrived_at[cell], 1)) {
        __threadfence();
        y[(size_t)m * N + n] = __float2half(atomicAdd(&halves[cell], 0.0f) + __half2float(bias[n]));
    }
}
