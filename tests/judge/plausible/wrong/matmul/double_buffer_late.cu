// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: missing wait
// kinds: unwaited_copy race uninitialised_read wrong_result
// Two stages by cp.async, and the wait lets two groups be under way instead of one.
#include <cuda_pipeline.h>
__global__ void mm_async(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[2][16][16], b[2][16][16];
    int x = threadIdx.x, y = threadIdx.y, c = blockIdx.x * 16 + x, r = blockIdx.y * 16 + y;
    auto fetch = [&](int k0, int s) {
        a[s][y][x] = b[s][y][x] = 0;
        if (r < M && k0 + x < K) __pipeline_memcpy_async(&a[s][y][x], &A[(size_t)r * K + k0 + x], 4);
        if (c < N && k0 + y < K) __pipeline_memcpy_async(&b[s][y][x], &B[(size_t)(k0 + y) * N + c], 4);
        __pipeline_commit();
    };
    float sum = 0;
    fetch(0, 0);
    for (int k0 = 0, s = 0; k0 < K; k0 += 16, s ^= 1) {
        fetch(k0 + 16, s ^ 1);
        __pipeline_wait_prior(2);
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += a[s][y][k] * b[s][k][x];
        __syncthreads();
    }
    if (r < M && c < N) C[(size_t)r * N + c] = sum;
}
