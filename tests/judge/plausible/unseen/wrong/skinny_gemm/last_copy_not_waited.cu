// grid: ceil(N/8) M
// block: 64
// fault: missing wait
// kinds: unwaited_copy
// A pipeline of two cp.async stages that always waits with wait_group 1: in the last step the group waited for is the one that is read, and it may not have arrived (every size).

#include <cuda_fp16.h>

#include <cuda_pipeline.h>

// A block has 8 outputs of one row of x; 8 threads per output.
__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    __shared__ __align__(16) __half w[2][8][32];
    __shared__ __align__(16) __half r[2][32];
    const int t = threadIdx.x, m = blockIdx.y, n0 = blockIdx.x * 8, depth = 32 * steps;
    auto fetch = [&](int s) {
        if (t < 32) {
            const int n = min(n0 + t / 4, N - 1);
            __pipeline_memcpy_async(&w[s & 1][t / 4][t % 4 * 8], weight + (size_t)n * depth + 32 * s + t % 4 * 8, 16);
        } else if (t < 36) {
            __pipeline_memcpy_async(&r[s & 1][(t - 32) * 8], x + (size_t)m * depth + 32 * s + (t - 32) * 8, 16);
        }
        __pipeline_commit();
    };
    float sum = 0.0f;
    fetch(0);
    for (int s = 0; s < steps; ++s) {
        if (s + 1 < steps) fetch(s + 1);
        __pipeline_wait_prior(1);
        __syncthreads();
        for (int k = t % 8; k < 32; k += 8) sum = fmaf(__half2float(r[s & 1][k]), __half2float(w[s & 1][t / 8][k]), sum);
        __syncthreads();
    }
    for (int d = 4; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    const int n = n0 + t / 8;
    if (t % 8 == 0 && n < N) y[(size_t)m * N + n] = __float2half(sum + __half2float(bias[n]));
}
