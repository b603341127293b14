// grid: ceil(N/64)
// block: 64
// shared: 2*64*32*steps + 4*32*steps*64
// fault: shared memory
// kinds: launch
// 64 rows of weights as half and as float: 384 KiB at K = 1024.
#include <cuda_fp16.h>
__global__ void linear(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    extern __shared__ float w[];
    const int K = 32 * steps, n0 = blockIdx.x * 64, n = n0 + threadIdx.x;
    for (int i = threadIdx.x; i < 64 * K; i += 64)
        if (n0 + i / K < N) w[i] = __half2float(weight[(size_t)n0 * K + i]);
    __syncthreads();
    if (n >= N) return;
    for (int m = 0; m < M; ++m) {
        float s = 0;
        for (int k = 0; k < K; ++k) s += w[threadIdx.x * K + k] * __half2float(x[(size_t)m * K + k]);
        y[(size_t)m * N + n] = __float2half(s + __half2float(bias[n]));
    }
}
