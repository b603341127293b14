// grid: ceil(n/256)
// block: 256
// fault: missing wait of cp.async
// kinds: unwaited_copy race uninitialised_read wrong_result
// Whole blocks copy, commit and wait; the last, partial block commits after the wait and reads what has not arrived: n % 256 != 0.

#include <cuda_pipeline.h>

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    __shared__ float left[256], right[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    const bool whole = (blockIdx.x + 1) * 256 <= n;
    if (whole) {
        __pipeline_memcpy_async(&left[t], &a[i], 4);
        __pipeline_memcpy_async(&right[t], &b[i], 4);
        __pipeline_commit();
    }
    __pipeline_wait_prior(0);
    if (!whole && i < n) {
        __pipeline_memcpy_async(&left[t], &a[i], 4);
        __pipeline_memcpy_async(&right[t], &b[i], 4);
        __pipeline_commit();
    }
    if (i < n) c[i] = left[t] + right[t];
}
