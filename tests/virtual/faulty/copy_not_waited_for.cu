// expect: unwaited_copy
#include <cuda_pipeline.h>
extern "C" __global__ void k(int* out, const int* in, int n)
{
    __shared__ int row[64];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&row[t], &in[t], 4);
    __pipeline_commit();
#ifdef RIGHT
    __pipeline_wait_prior(0);
#endif
    out[t] = row[t];  // <- here
}
