// Factors in bfloat16: it has tf32's exponents, and 3 bits less behind the point.
//
// entry: matmul_tf32_factors_in_bfloat16
// block: 32 8
// grid: ceil(N/32) ceil(M/8)
// expect: wrong_result

#include <cuda_bf16.h>

extern "C" __global__ void matmul_tf32_factors_in_bfloat16(const float* A, const float* B, float* C,
                                                           int M, int N, int K)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k)
        sum += __bfloat162float(__float2bfloat16(A[(size_t)row * K + k]))
               * __bfloat162float(__float2bfloat16(B[(size_t)column * K + k]));
    C[(size_t)row * N + column] = sum;
}
