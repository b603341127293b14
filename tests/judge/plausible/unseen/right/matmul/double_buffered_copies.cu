// grid: ceil(N/64) ceil(M/32)
// block: 16 16
// shared: 12672
//
// Dynamic shared memory in two stages that cp.async fills four bytes at a time, two by four elements a thread.

#include <cuda_pipeline.h>

struct Stage {
    float a[32][17];
    float b[16][65];
};

__device__ void load(Stage& stage, const float* A, const float* B, int M, int N, int K, int top, int left, int k)
{
    const int t = threadIdx.y * 16 + threadIdx.x;
    for (int e = t; e < 32 * 16; e += 256) {
        const int r = e / 16, c = e % 16;
        if (top + r < M && k + c < K)
            __pipeline_memcpy_async(&stage.a[r][c], A + (size_t)(top + r) * K + k + c, 4);
        else
            stage.a[r][c] = 0.0f;
    }
    for (int e = t; e < 16 * 64; e += 256) {
        const int r = e / 64, c = e % 64;
        if (k + r < K && left + c < N)
            __pipeline_memcpy_async(&stage.b[r][c], B + (size_t)(k + r) * N + left + c, 4);
        else
            stage.b[r][c] = 0.0f;
    }
    __pipeline_commit();
}

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    extern __shared__ Stage stages[];
    const int top = blockIdx.y * 32, left = blockIdx.x * 64, x = threadIdx.x, y = threadIdx.y;
    float sums[2][4] = {};
    if (K > 0) load(stages[0], A, B, M, N, K, top, left, 0);
    for (int k = 0, s = 0; k < K; k += 16, s ^= 1) {
        if (k + 16 < K) {
            load(stages[s ^ 1], A, B, M, N, K, top, left, k + 16);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        for (int i = 0; i < 16; ++i)
            for (int r = 0; r < 2; ++r)
                for (int c = 0; c < 4; ++c) sums[r][c] += stages[s].a[y + 16 * r][i] * stages[s].b[i][x + 16 * c];
        __syncthreads();
    }
    for (int r = 0; r < 2; ++r)
        for (int c = 0; c < 4; ++c) {
            const int row = top + y + 16 * r, column = left + x + 16 * c;
            if (row < M && column < N) C[(size_t)row * N + column] = sums[r][c];
        }
}
