// fault: a row's number is kept in a short: from 32,768 on it is negative
// kinds: out_of_bounds wrong_result
// grid: ceil(N/32) ceil(M/8)
// block: 32 8
#include <cuda_fp16.h>
__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    const int j = blockIdx.x * 32 + threadIdx.x;
    const short i = blockIdx.y * 8 + threadIdx.y;
    if (i >= M || j >= N) return;
    float sum = 0;
    for (int k = 0; k < K; k++) sum += __half2float(A[(long long)i * K + k]) * __half2float(B[(size_t)k * N + j]);
    C[(long long)i * N + j] = __float2half(sum);
}
