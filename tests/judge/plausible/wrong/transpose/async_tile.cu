// grid: ceil(N/32) ceil(M/32)
// block: 32 8
// fault: missing wait
// kinds: race uninitialised_read wrong_result unwaited_copy
// The tile comes by cp.async; it waits for all groups but one, and there is only one.
#include <cuda_pipeline.h>
__global__ void transpose_async(const float* in, float* out, int M, int N)
{
    __shared__ float tile[32][33];
    const int r = blockIdx.y * 32, c = blockIdx.x * 32 + threadIdx.x;
    for (int y = threadIdx.y; y < 32; y += 8)
        if (r + y < M && c < N) __pipeline_memcpy_async(&tile[y][threadIdx.x], &in[(size_t)(r + y) * N + c], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += 8)
        if (blockIdx.x * 32 + y < N && r + threadIdx.x < M)
            out[(size_t)(blockIdx.x * 32 + y) * M + r + threadIdx.x] = tile[threadIdx.x][y];
}
