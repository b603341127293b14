// Factors in half: it has tf32's 10 bits behind the point, and three bits of exponent less.
//
// entry: matmul_tf32_factors_in_half
// block: 32 8
// grid: ceil(N/32) ceil(M/8)
// expect: wrong_result

#include <cuda_fp16.h>

extern "C" __global__ void matmul_tf32_factors_in_half(const float* A, const float* B, float* C,
                                                       int M, int N, int K)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k)
        sum += __half2float(__float2half(A[(size_t)row * K + k]))
               * __half2float(__float2half(B[(size_t)column * K + k]));
    C[(size_t)row * N + column] = sum;
}
