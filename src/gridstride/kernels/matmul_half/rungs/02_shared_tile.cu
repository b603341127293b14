// 02 shared tile: a block copies a 32x32 tile of A and of B into shared memory and reads it 32 times.
//
// Moves: global requests per thread, from 2 for every step of k to 2 for every 32. Tiles are kept as floats, so that a
//   value is converted once, not 32 times.
// Mapping: thread (x, y) -> column = blockIdx.x * 32 + x, row = blockIdx.y * 32 + y; it also loads element (y, x) of
//   both tiles. Elements outside the matrices are loaded as 0, so every size is right.
//
// entry: matmul_half_shared_tile
// block: 32 32
// grid: ceil(N/32) ceil(M/32)

#include <cuda_fp16.h>

constexpr int TILE = 32;  // rows and columns of a tile

extern "C" __global__ void matmul_half_shared_tile(const __half* __restrict__ A, const __half* __restrict__ B,
                                                   __half* __restrict__ C, int M, int N, int K)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    float sum = 0.0f;
    for (int start = 0; start < K; start += TILE) {
        tile_a[y][x] = row < M && start + x < K ? __half2float(A[(size_t)row * K + start + x]) : 0.0f;
        tile_b[y][x] = start + y < K && column < N ? __half2float(B[(size_t)(start + y) * N + column]) : 0.0f;
        __syncthreads();  // the whole tile is there before anyone reads it

        for (int k = 0; k < TILE; ++k) sum += tile_a[y][k] * tile_b[k][x];
        __syncthreads();  // everyone has read it before anyone overwrites it
    }
    if (row < M && column < N) C[(size_t)row * N + column] = __float2half(sum);
}
