// grid: ceil(N/64) M
// block: 64
// fault: missing barrier
// kinds: race uninitialised_read wrong_result unwaited_copy
// A row of x in pieces of 64 by cp.async: each thread waits for its own copy, and none for the others'.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
__global__ void linear(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    __shared__ __align__(16) __half s[128];
    int n = blockIdx.x * 64 + threadIdx.x, m = blockIdx.y, K = 32 * steps;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += 128) {
        int k = k0 + 2 * threadIdx.x;
        if (k < K) __pipeline_memcpy_async(&s[2 * threadIdx.x], &x[(size_t)m * K + k], 4);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        if (n < N)
            for (int i = 0; i < 128 && k0 + i < K; ++i)
                sum += __half2float(s[i]) * __half2float(weight[(size_t)n * K + k0 + i]);
        __syncthreads();
    }
    if (n < N) y[(size_t)m * N + n] = __float2half(sum + __half2float(bias[n]));
}
