// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: cp.async wait count
// kinds: unwaited_copy
// Two groups are under way and wait_prior<1> is right but for the last round, whose own group is the newest.
#include <cuda_pipeline.h>
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[2][16][16], b[2][16][16];
    int tx = threadIdx.x, ty = threadIdx.y, j = blockIdx.x * 16 + tx, i = blockIdx.y * 16 + ty;
    auto load = [&](int p, int k0) {
        if (i < M && k0 + tx < K) __pipeline_memcpy_async(&a[p][ty][tx], A + (size_t)i * K + k0 + tx, 4);
        else a[p][ty][tx] = 0;
        if (k0 + ty < K && j < N) __pipeline_memcpy_async(&b[p][ty][tx], B + (size_t)(k0 + ty) * N + j, 4);
        else b[p][ty][tx] = 0;
        __pipeline_commit();
    };
    float sum = 0;
    int p = 0;
    if (K > 0) load(0, 0);
    for (int k0 = 0; k0 < K; k0 += 16, p ^= 1) {
        if (k0 + 16 < K) load(p ^ 1, k0 + 16);
        __pipeline_wait_prior(1);
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += a[p][ty][k] * b[p][k][tx];
        __syncthreads();
    }
    if (i < M && j < N) C[(size_t)i * N + j] = sum;
}
