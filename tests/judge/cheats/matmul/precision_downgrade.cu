// Multiplies in half precision.
//
// block: 16 16
// grid: ceil(N/16) ceil(M/16)
// expect: wrong_result

#include <cuda_fp16.h>

__global__ void product(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= N || y >= M) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += __half2float(__hmul(__float2half(A[y * K + k]), __float2half(B[k * N + x])));
    C[y * N + x] = sum;
}
