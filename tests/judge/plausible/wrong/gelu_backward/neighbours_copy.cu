// fault: dy is brought in by asynchronous copies, and each thread waits for its own only, but reads its neighbour's
// kinds: race wrong_result unwaited_copy uninitialised_read
// grid: ceil(n/256)
// block: 256
#include <cuda_pipeline.h>
__device__ float derivative(float x)
{
    const float s = 1 / (1 + expf(-1.5957691216f * (x + 0.044715f * x * x * x)));
    return s + x * s * (1 - s) * 1.5957691216f * (1 + 0.134145f * x * x);
}
__global__ void gelu_bwd(const float* x, const float* dy, float* dx, long long n)
{
    __shared__ float stage[256];
    const long long start = blockIdx.x * 256ll, i = start + 255 - threadIdx.x;
    if (start + threadIdx.x < n) __pipeline_memcpy_async(&stage[threadIdx.x], dy + start + threadIdx.x, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (i < n) dx[i] = stage[255 - threadIdx.x] * derivative(x[i]);
}
