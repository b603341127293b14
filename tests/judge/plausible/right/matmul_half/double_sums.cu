// grid: ceil(M*N/8)
// block: 32 8
// A warp for an element of C: lanes share the steps of k, sums are doubles, and meet by shuffle.
#include <cuda_fp16.h>
__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    const size_t element = (size_t)blockIdx.x * 8 + threadIdx.y;
    if (element >= (size_t)M * N) return;
    const size_t i = element / N, j = element % N;
    double sum = 0;
    for (int k = threadIdx.x; k < K; k += 32)
        sum += (double)__half2float(A[i * K + k]) * (double)__half2float(B[(size_t)k * N + j]);
    for (int offset = 16; offset; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (threadIdx.x == 0) C[element] = __double2half(sum);
}
