// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// fault: numerics: half accumulation
// kinds: wrong_result
// 32 terms are added up by __hfma2 in half before they go into the float32 sum.
#include <cuda_fp16.h>

__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += 32) {
        __half2 part = __float2half2_rn(0.0f);
        int k = k0;
        for (; k + 1 < min(K, k0 + 32); k += 2) {
            __half2 a = __halves2half2(A[(size_t)row * K + k], A[(size_t)row * K + k + 1]);
            __half2 b = __halves2half2(B[(size_t)k * N + column], B[(size_t)(k + 1) * N + column]);
            part = __hfma2(a, b, part);
        }
        sum += __low2float(part) + __high2float(part);
        if (k < min(K, k0 + 32)) sum += __half2float(A[(size_t)row * K + k]) * __half2float(B[(size_t)k * N + column]);
    }
    C[(size_t)row * N + column] = __float2half(sum);
}
