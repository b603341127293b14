// 01 naive: one thread computes one element of C from a row of A and a row of B in global memory.
//
// Moves: nothing yet. Each step of k is two loads of a byte, two conversions and a multiply-add in float32: a quarter
//   of the bytes of a float32 product, and more instructions.
// Mapping: thread (x, y) -> column = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y. Lanes run along a row of C, and so
//   down the rows of B: each reads from a sector of its own.
//
// entry: matmul_fp8_naive
// block: 32 8
// grid: ceil(N/32) ceil(M/8)

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#ifndef BFLOAT16
typedef __half Out;
#else
typedef __nv_bfloat16 Out;
#endif

extern "C" __global__ void matmul_fp8_naive(const __nv_fp8_e4m3* __restrict__ A, const __nv_fp8_e4m3* __restrict__ B,
                                            const float* __restrict__ scale_a, const float* __restrict__ scale_b,
                                            Out* __restrict__ C, int M, int N, int K)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;

    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        sum += static_cast<float>(A[(size_t)row * K + k]) * static_cast<float>(B[(size_t)column * K + k]);
    }
    C[(size_t)row * N + column] = Out(scale_a[row] * scale_b[column] * sum);
}
