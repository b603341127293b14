// Rows of B as columns: B is read as if it were stored column by column, as linear layers have it.
//
// entry: matmul_half_rows_of_b_as_columns
// block: 32 8
// grid: ceil(N/32) ceil(M/8)
// expect: wrong_result

#include <cuda_fp16.h>

extern "C" __global__ void matmul_half_rows_of_b_as_columns(const __half* A, const __half* B, __half* C,
                                                            int M, int N, int K)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        sum += __half2float(A[(size_t)row * K + k]) * __half2float(B[(size_t)column * K + k]);
    }
    C[(size_t)row * N + column] = __float2half(sum);
}
