// grid: ceil(n/512)
// block: 128
//
// Two stages of cp.async: the next 128 elements of x are on their way while these are worked on.

#include <cuda_pipeline.h>

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    __shared__ float stage[2][128];
    const int t = threadIdx.x, first = blockIdx.x * 512 + t;
    if (first < n) __pipeline_memcpy_async(&stage[0][t], x + first, sizeof(float));
    __pipeline_commit();
    for (int round = 0; round < 4; ++round) {
        const int i = first + 128 * round;
        if (round < 3 && i + 128 < n) __pipeline_memcpy_async(&stage[(round + 1) & 1][t], x + i + 128, sizeof(float));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        if (i < n) y[i] += a * stage[round & 1][t];
    }
}
