// Lets a library do the work.
//
// block: 16 16
// grid: ceil(N/16) ceil(M/16)
// expect: compile_error

#include <cublas_v2.h>
__global__ void product(const float* A, const float* B, float* C, int M, int N, int K)
{
    cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, nullptr, A, K, B, N, nullptr, C, N);
}
