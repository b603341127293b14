// fault: eight halves of A are read at once where K allows it, wherever A begins
// kinds: misaligned
// grid: ceil(N/32) ceil(M/8)
// block: 32 8
#include <cuda_fp16.h>
__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    const int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
    if (i >= M || j >= N) return;
    float sum = 0;
    int k = 0;
    if (K % 8 == 0) {
        for (; k < K; k += 8) {
            const uint4 eight = *reinterpret_cast<const uint4*>(A + (size_t)i * K + k);
            const __half* a = reinterpret_cast<const __half*>(&eight);
            for (int e = 0; e < 8; e++) sum += __half2float(a[e]) * __half2float(B[(size_t)(k + e) * N + j]);
        }
    }
    for (; k < K; k++) sum += __half2float(A[(size_t)i * K + k]) * __half2float(B[(size_t)k * N + j]);
    C[(size_t)i * N + j] = __float2half(sum);
}
