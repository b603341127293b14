// grid: ceil(N/32) M
// block: 32
// fault: missing wait of cp.async
// kinds: unwaited_copy race uninitialised_read wrong_result
// Two stages: the wait lets one copy be outstanding, also in the last round, where that one is what is read. Right for one step.

#include <cuda_fp16.h>
#include <cuda_pipeline.h>

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    __shared__ alignas(16) __half stage[2][32][40];
    const int lane = threadIdx.x, n = blockIdx.x * 32 + lane, m = blockIdx.y, K = 32 * steps;
    auto load = [&](int s) {
        for (int p = 0; p < 4; ++p)
            if (n < N) __pipeline_memcpy_async(&stage[s & 1][lane][8 * p], weight + (size_t)n * K + 32 * s + 8 * p, 16);
        __pipeline_commit();
    };
    load(0);
    if (steps == 1) __pipeline_wait_prior(0);
    float sum = 0.0f;
    for (int s = 0; s < steps; ++s) {
        if (s + 1 < steps) load(s + 1);
        __pipeline_wait_prior(1);
        if (n < N)
            for (int k = 0; k < 32; ++k) sum += __half2float(x[(size_t)m * K + 32 * s + k]) * __half2float(stage[s & 1][lane][k]);
    }
    if (n < N) y[(size_t)m * N + n] = __float2half(sum + __half2float(bias[n]));
}
