// grid: ceil(N/16)
// block: 16 8
// A block walks down its 16 columns with a double buffer filled by cp.async, four bytes at a time.
#include <cuda_pipeline.h>
__global__ void transpose_walk(const float* in, float* out, int M, int N)
{
    __shared__ float tile[2][16][17];
    const int c = blockIdx.x * 16 + threadIdx.x;
    auto fetch = [&](int r0, int slot) {
        for (int y = threadIdx.y; y < 16; y += 8)
            if (r0 + y < M && c < N)
                __pipeline_memcpy_async(&tile[slot][y][threadIdx.x], &in[(size_t)(r0 + y) * N + c], 4);
        __pipeline_commit();
    };
    fetch(0, 0);
    for (int r0 = 0, slot = 0; r0 < M; r0 += 16, slot ^= 1) {
        fetch(r0 + 16, slot ^ 1);
        __pipeline_wait_prior(1);
        __syncthreads();
        for (int y = threadIdx.y; y < 16; y += 8)
            if (blockIdx.x * 16 + y < N && r0 + threadIdx.x < M)
                out[(size_t)(blockIdx.x * 16 + y) * M + r0 + threadIdx.x] = tile[slot][threadIdx.x][y];
        __syncthreads();
    }
}
