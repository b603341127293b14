// Every lane for itself. The tiles are halves, the sums are floats, and every value comes out right. But a lane that
// multiplies by itself makes one multiply-add an instruction, where the tensor cores make 4,096 for a warp.
//
// block: 32 32
// grid: ceil(N/32) ceil(M/32)
// expect: too_many instructions

#include <cuda_fp16.h>

constexpr int TILE = 32;

extern "C" __global__ void product(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    __shared__ __half tile_a[TILE][TILE], tile_b[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    float sum = 0.0f;
    for (int start = 0; start < K; start += TILE) {
        tile_a[y][x] = row < M && start + x < K ? A[(size_t)row * K + start + x] : __half(0.0f);
        tile_b[y][x] = start + y < K && column < N ? B[(size_t)(start + y) * N + column] : __half(0.0f);
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += __half2float(tile_a[y][k]) * __half2float(tile_b[k][x]);  // <- here
        __syncthreads();
    }
    if (row < M && column < N) C[(size_t)row * N + column] = __float2half(sum);
}
