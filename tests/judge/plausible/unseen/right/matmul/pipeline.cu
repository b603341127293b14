// right: cp.async in two stages with the last wait of 0
// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// needs: 8.0
#include <cuda_pipeline.h>

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float as[2][16][16], bs[2][16][16];
    const int tx = threadIdx.x, ty = threadIdx.y, column = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
    const int tiles = (K + 15) / 16;
    auto fetch = [&](int t) {
        const int k0 = t * 16, s = t % 2;
        if (row < M && k0 + tx < K) __pipeline_memcpy_async(&as[s][ty][tx], &A[(size_t)row * K + k0 + tx], 4);
        else as[s][ty][tx] = 0.0f;
        if (column < N && k0 + ty < K) __pipeline_memcpy_async(&bs[s][ty][tx], &B[(size_t)(k0 + ty) * N + column], 4);
        else bs[s][ty][tx] = 0.0f;
        __pipeline_commit();
    };
    float acc = 0;
    if (tiles > 0) fetch(0);
    for (int t = 0; t < tiles; ++t) {
        if (t + 1 < tiles) {
            fetch(t + 1);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        for (int k = 0; k < 16; ++k) acc += as[t % 2][ty][k] * bs[t % 2][k][tx];
        __syncthreads();
    }
    if (row < M && column < N) C[(size_t)row * N + column] = acc;
}
