// Columns of B: it is read as K rows of N, as the factor of A B is and that of A B^T is not.
//
// entry: matmul_tf32_columns_of_b
// block: 32 8
// grid: ceil(N/32) ceil(M/8)
// expect: wrong_result

extern "C" __global__ void matmul_tf32_columns_of_b(const float* A, const float* B, float* C,
                                                    int M, int N, int K)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[(size_t)row * K + k] * B[(size_t)k * N + column];
    C[(size_t)row * N + column] = sum;
}
