// grid: ceil(n/256)
// block: 256
// fault: missing wait
// kinds: race uninitialised_read wrong_result unrepeatable unwaited_copy
// cp.async copies are committed and never waited for; the barrier does not wait for them either.
#include <cuda_pipeline.h>
__global__ void add_async(const float* a, const float* b, float* c, int n)
{
    __shared__ float sa[256], sb[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    if (i < n) {
        __pipeline_memcpy_async(&sa[t], &a[i], sizeof(float));
        __pipeline_memcpy_async(&sb[t], &b[i], sizeof(float));
    }
    __pipeline_commit();
    __syncthreads();
    if (i < n) c[i] = sa[t] + sb[t];
}
