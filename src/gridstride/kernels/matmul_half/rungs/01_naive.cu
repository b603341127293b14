// 01 naive: one thread computes one element of C from a row of A and a column of B in global memory.
//
// Moves: nothing yet. Each step of k is two loads, two conversions and a multiply-add in float32. Half the bytes of a
//   float32 product, and just as many instructions.
// Mapping: thread (x, y) -> column = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y. Lanes run along a row of C.
//
// entry: matmul_half_naive
// block: 32 8
// grid: ceil(N/32) ceil(M/8)

#include <cuda_fp16.h>

extern "C" __global__ void matmul_half_naive(const __half* __restrict__ A, const __half* __restrict__ B,
                                             __half* __restrict__ C, int M, int N, int K)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;

    float sum = 0.0f;  // a half has 11 bits: from 2048 on it could not even count
    for (int k = 0; k < K; ++k) {
        sum += __half2float(A[(size_t)row * K + k]) * __half2float(B[(size_t)k * N + column]);
    }
    C[(size_t)row * N + column] = __float2half(sum);
}
