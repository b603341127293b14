// fault: a step of k is left out where A is 0, as after a ReLU; but 0 times Inf is NaN
// kinds: wrong_result
// grid: ceil(N/32) ceil(M/8)
// block: 32 8
#include <cuda_fp16.h>
__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    const int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
    if (i >= M || j >= N) return;
    float sum = 0;
    for (int k = 0; k < K; k++) {
        const float a = __half2float(A[(size_t)i * K + k]);
        if (a != 0.0f) sum += a * __half2float(B[(size_t)k * N + j]);
    }
    C[(size_t)i * N + j] = __float2half(sum);
}
