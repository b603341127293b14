// Sums in half: products are added up in 16 bits.
//
// entry: matmul_half_sums_in_half
// block: 32 8
// grid: ceil(N/32) ceil(M/8)
// expect: wrong_result

#include <cuda_fp16.h>

extern "C" __global__ void matmul_half_sums_in_half(const __half* A, const __half* B, __half* C,
                                                    int M, int N, int K)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;
    __half sum = 0.0f;
    for (int k = 0; k < K; ++k) sum = __hfma(A[(size_t)row * K + k], B[(size_t)k * N + column], sum);
    C[(size_t)row * N + column] = sum;
}
