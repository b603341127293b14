// grid: ceil(N/32) 2
// block: 32
// fault: device variable
// kinds: wrong_result unrepeatable race
// Two halves of K through a device buffer; the second block of a pair finishes. Its counter is never set back.
#include <cuda_fp16.h>
__device__ float half_sum[1 << 22];
__device__ unsigned came[1 << 16];
__global__ void halves(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    int n = blockIdx.x * 32 + threadIdx.x, K = 32 * steps, cut = 32 * (steps / 2);
    int from = blockIdx.y ? cut : 0, to = blockIdx.y ? K : cut;
    __shared__ unsigned place;
    auto dot = [&](int m, int a, int b) {
        float s = 0;
        for (int k = a; k < b; ++k) s += __half2float(x[(size_t)m * K + k]) * __half2float(weight[(size_t)n * K + k]);
        return s;
    };
    if (n < N)
        for (int m = 0; m < M; ++m) half_sum[((size_t)blockIdx.y * M + m) * N + n] = dot(m, from, to);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) place = atomicAdd(&came[blockIdx.x], 1);
    __syncthreads();
    if (place != 1 || n >= N) return;
    __threadfence();
    for (int m = 0; m < M; ++m) {
        const volatile float* h = half_sum;
        y[(size_t)m * N + n] = __float2half(h[(size_t)m * N + n] + h[(size_t)(M + m) * N + n] + __half2float(bias[n]));
    }
}
