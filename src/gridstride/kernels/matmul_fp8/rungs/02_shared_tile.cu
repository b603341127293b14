// 02 shared tile: a block copies a 32x32 tile of A and of B into shared memory and reads it 32 times.
//
// Moves: global requests per thread, from 2 for every step of k to 2 for every 32, and sectors: lanes run along the
//   rows of B. Tiles are kept as floats, so that a value is converted once, not 32 times.
// Mapping: thread 32 y + x -> column = blockIdx.x * 32 + x, row = blockIdx.y * 32 + y; it also loads element x of row y
//   of both tiles. B's tile has rows of 33 floats: lanes that read the same k of 32 rows find them in 32 banks.
//
// entry: matmul_fp8_shared_tile
// block: 1024
// grid: ceil(N/32) ceil(M/32)

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#ifndef BFLOAT16
typedef __half Out;
#else
typedef __nv_bfloat16 Out;
#endif

constexpr int TILE = 32;  // rows and columns of a tile

// Element k of a row as a float, and 0 outside the matrix.
__device__ __forceinline__ float load(const __nv_fp8_e4m3* matrix, int row, int k, int rows, int K)
{
    return row < rows && k < K ? static_cast<float>(matrix[(size_t)row * K + k]) : 0.0f;
}

extern "C" __global__ void matmul_fp8_shared_tile(const __nv_fp8_e4m3* __restrict__ A,
                                                  const __nv_fp8_e4m3* __restrict__ B,
                                                  const float* __restrict__ scale_a, const float* __restrict__ scale_b,
                                                  Out* __restrict__ C, int M, int N, int K)
{
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE + 1];

    const int x = threadIdx.x % TILE, y = threadIdx.x / TILE;
    const int column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    float sum = 0.0f;
    for (int start = 0; start < K; start += TILE) {
        tile_a[y][x] = load(A, row, start + x, M, K);
        tile_b[y][x] = load(B, blockIdx.x * TILE + y, start + x, N, K);
        __syncthreads();  // the whole tile is there before anyone reads it

        for (int k = 0; k < TILE; ++k) sum += tile_a[y][k] * tile_b[x][k];
        __syncthreads();  // everyone has read it before anyone overwrites it
    }
    if (row < M && column < N) C[(size_t)row * N + column] = Out(scale_a[row] * scale_b[column] * sum);
}
