// grid: ceil(N/8)
// block: 32 8
// shared: 256*M*steps
// fault: what hardware refuses
// kinds: launch
// All of x is kept in shared memory as doubles: 256 KiB at the timed size.

#include <cuda_fp16.h>

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    extern __shared__ double xs[];
    const int K = 32 * steps, n = blockIdx.x * 8 + threadIdx.y;
    for (int i = threadIdx.y * 32 + threadIdx.x; i < M * K; i += 256) xs[i] = __half2float(x[i]);
    __syncthreads();
    if (n >= N) return;
    for (int m = 0; m < M; ++m) {
        float sum = 0.0f;
        for (int k = threadIdx.x; k < K; k += 32) sum += (float)xs[m * K + k] * __half2float(weight[(size_t)n * K + k]);
        for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
        if (threadIdx.x == 0) y[(size_t)m * N + n] = __float2half(sum + __half2float(bias[n]));
    }
}
